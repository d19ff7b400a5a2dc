// A FUSE filesystem with one folder of files, on which one file gets no answer: as a mount whose server hangs, and that
// asks its server only where a thread waits for the answer (no FUSE_ASYNC_READ).
//
// Speaks the kernel's protocol itself (linux/fuse.h), so that it needs no package. A request that its caller gives up
// on is answered with EINTR, as servers should; without that, the caller could not even be killed.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/fd.h"

namespace feedline::test {

class HeldMount {
public:
    enum class What { nothing, open, read };
    // What gets no answer: all reads of file number `file`, or those opens of it that ask not to write access times
    // (O_NOATIME), which is how data are opened, and not what looks at files before.
    struct Held {
        What what = What::nothing;
        unsigned file = 0;
    };

    // Why there can be none here; empty: there can.
    static std::string refusal();

    // Mounts files called "000", "001", ... of these contents over the existing folder `path`, and serves them in a
    // thread of its own. Throws std::runtime_error.
    HeldMount(std::string path, std::vector<std::string> contents, const Held& held);
    // Gives every request still waiting an error, and unmounts.
    ~HeldMount();
    HeldMount(const HeldMount&) = delete;
    HeldMount& operator=(const HeldMount&) = delete;

    static std::string name(std::size_t file);  // within the folder
    const std::string& content(std::size_t file) const { return contents_.at(file); }
    // Requests that are, or were, held.
    unsigned held() const { return held_count_.load(); }

private:
    void serve();
    void answer_one(std::span<const char> request);
    void reply(std::uint64_t unique, int error, std::span<const char> body);
    template <typename Body>
    void reply_with(std::uint64_t unique, const Body& body) {
        reply(unique, 0, {reinterpret_cast<const char*>(&body), sizeof body});
    }
    void list(std::uint64_t unique, std::uint64_t offset, std::size_t room);
    bool holds(What what, std::uint64_t node, std::uint64_t unique);
    std::uint64_t bytes_of(std::uint64_t node) const;

    std::string path_;
    std::vector<std::string> contents_;
    Held held_;
    std::atomic<unsigned> held_count_{0};
    std::vector<std::uint64_t> waiting_;  // what is held now; the serving thread's own
    Fd device_;
    Fd wake_;  // ends the serving thread
    std::thread server_;
};

}  // namespace feedline::test
