// Implemented by datasets whose records may hold more than SampleViews tells of them: features, columns, entries that a
// repacked sample would go without.
//
// Thread-safety: as of Dataset.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace feedline {

struct LeftBehind {
    std::vector<std::string> names;  // of what is in the record and in no view; raw bytes
    bool whole = false;  // the record could be taken apart, and its one part is the whole of it all the same
};

class LeavesBehind {
public:
    virtual ~LeavesBehind() = default;
    virtual LeftBehind left_behind(std::span<const std::byte> record) const = 0;
};

// What some records leave behind, in a note or two.
class LeftBehindNotes {
public:
    void add(const LeftBehind& one) {
        ++looked_into_;
        whole_ += one.whole ? 1 : 0;
        for (const std::string& name : one.names) {
            if (names_.size() < kMostNames) names_.insert(name);
        }
    }
    std::vector<std::string> notes() const {
        std::vector<std::string> notes;
        const std::string of = " of " + format_counted(looked_into_, "record") + " looked into";
        if (!names_.empty()) {
            std::string list;
            std::size_t shown = 0;
            for (const std::string& name : names_) {
                if (shown++ == kShown) break;
                list += (list.empty() ? "" : ", ") + printable(name);
            }
            if (names_.size() > kShown) list += ", ...";
            notes.push_back("samples are repacked without what else their records hold: " + list + " (names" + of +
                            ")");
        }
        if (whole_ > 0) {
            notes.push_back("no payload is told from the rest in " + std::to_string(whole_) + of +
                            ": there a sample is the whole serialized record");
        }
        return notes;
    }

private:
    static constexpr std::size_t kMostNames = 1000;
    static constexpr std::size_t kShown = 10;
    std::uint64_t looked_into_ = 0;
    std::uint64_t whole_ = 0;
    std::set<std::string> names_;
};

}  // namespace feedline
