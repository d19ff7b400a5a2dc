#include "packers/pack/label_count.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace feedline {

void LabelCount::add(const SampleHead& head, const Packer& packer) {
    const bool none = std::holds_alternative<std::monostate>(head.label);
    without += none ? 1 : 0;
    with += none ? 0 : 1;
    if (none || packer.keeps(head.label)) return;
    if (not_kept++ == 0) first_not_kept = head.path;
}

void LabelCount::add(const LabelCount& more) {
    without += more.without;
    with += more.with;
    // The same whichever shard is done first.
    const bool earlier = first_not_kept.empty() || more.first_not_kept < first_not_kept;
    if (more.not_kept > 0 && earlier) first_not_kept = more.first_not_kept;
    not_kept += more.not_kept;
}

std::vector<std::string> LabelCount::notes(const Packer& packer) const {
    std::vector<std::string> notes;
    if (not_kept > 0) {
        notes.push_back(
            fmt::format("{} that are text or several numbers, such as that of {}, are in the sidecars (*.samples) "
                        "alone: {} has one number a sample",
                        format_counted(not_kept, "label"), printable(first_not_kept), packer.format()));
    }
    if (packer.marks_unlabelled() && without > 0 && with > 0) {
        notes.push_back(
            fmt::format("{} without a label among {} that have one: in 'labels' theirs is the smallest "
                        "64-bit integer",
                        format_counted(without, "sample"), format_count(static_cast<double>(with))));
    }
    return notes;
}

}  // namespace feedline
