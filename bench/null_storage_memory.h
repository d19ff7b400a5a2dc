// What a sweep remembers of its null-storage controls. Such a control depends on the options, on the sizes of the
// samples and on how they lie in the slab, and not on where they are stored: what ran once is not run again.
#pragma once

#include <map>
#include <string>

#include "bench/result.h"
#include "bench/workbench.h"

namespace feedline {

// What a null-storage control depends on, as text: the options in effect that it runs under, how samples lie in the
// slab, and their sizes in order; with JPEG also the samples themselves.
std::string null_storage_inputs(const Workbench& bench);

// Not thread-safe.
class NullStorageMemory {
public:
    struct Known {
        std::string name;  // of the result it was measured for
        ControlFigures figures;
    };

    // Null where nothing was kept for these inputs; else valid as long as this lives.
    const Known* find(const std::string& inputs) const;
    // The first one that is kept for the same inputs stays.
    void keep(const std::string& inputs, const std::string& name, const ControlFigures& figures);

private:
    std::map<std::string, Known> known_;
};

}  // namespace feedline
