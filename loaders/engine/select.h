// Choosing an engine, with the questions to the system behind a seam, so that refusals that this machine does not know
// can be tested.
#pragma once

#include <string>

#include "loaders/engine/engine.h"

namespace feedline {

// How one of the dataset's files takes a kind of access.
struct AccessAnswer {
    enum class Verdict { works, refused, unknown };  // unknown: this file could not be asked (it vanished, say)
    Verdict verdict = Verdict::unknown;
    Alignment alignment;  // direct access that works
    std::string reason;   // refused
};

class SystemProbe {
public:
    virtual ~SystemProbe() = default;
    virtual std::string uring_refusal() = 0;  // empty: it works
    virtual AccessAnswer direct_access(const Source& source) = 0;
    virtual AccessAnswer mapping(const Source& source) = 0;
    // Reads that are answered at once, if only with EAGAIN. Where they are refused a ring blocks in submitting them.
    virtual AccessAnswer reads_at_once(const Source& source) = 0;
};

// Asks the kernel: statx STATX_DIOALIGN (Linux 6.1; ext4, xfs, f2fs, block devices), else by trying reads.
class KernelProbe final : public SystemProbe {
public:
    std::string uring_refusal() override;
    AccessAnswer direct_access(const Source& source) override;
    AccessAnswer mapping(const Source& source) override;
    AccessAnswer reads_at_once(const Source& source) override;
};

EngineSelection select_engine(EngineKind wanted, const Dataset& dataset, SystemProbe& probe);

}  // namespace feedline
