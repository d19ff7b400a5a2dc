#include "tests/loaders/test_engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "core/fd.h"

namespace feedline::test {
namespace {

Completion read(const ReadRequest& request) {
    Completion completion{.tag = request.tag, .issued_ns = now_ns()};
    Fd opened;
    int fd = request.source.fd;
    if (fd < 0) {
        opened = Fd(openat(request.source.dir_fd, request.source.name, O_RDONLY | O_CLOEXEC));
        fd = opened.get();
    }
    completion.opened_ns = now_ns();
    if (fd < 0) {
        completion.result = -errno;
    } else {
        const std::uint64_t wanted = request.length_bytes + (request.source.whole_file ? 1 : 0);
        const ssize_t got = pread(fd, request.destination, wanted, static_cast<off_t>(request.offset_bytes));
        completion.result =
            got < 0 ? -errno : std::min<std::int64_t>(got, static_cast<std::int64_t>(request.length_bytes));
        completion.grew = got > static_cast<std::int64_t>(request.length_bytes);
    }
    completion.completed_ns = now_ns();
    return completion;
}

}  // namespace

TestEngine::TestEngine(const EngineOptions& options, std::uint64_t seed, Tamper tamper)
    : options_(options), random_(seed), tamper_(std::move(tamper)) {}

std::size_t TestEngine::submit(std::span<const ReadRequest> requests) {
    // Now and then it takes fewer than it could, as a full ring does.
    std::size_t taken = std::min<std::size_t>(requests.size(), options_.queue_depth - requests_.size());
    if (taken > 0 && random_() % 4 == 0) taken = random_() % taken;
    for (const ReadRequest& request : requests.first(taken)) requests_.push_back(request);
    return taken;
}

std::size_t TestEngine::reap(std::size_t min, std::span<Completion> out, Nanoseconds timeout_ns) {
    const Nanoseconds until = now_ns() + timeout_ns;
    while (true) {
        std::shuffle(requests_.begin(), requests_.end(), random_);
        std::size_t count = 0;
        const std::size_t most = std::min(out.size(), min + random_() % (requests_.size() + 1));
        for (std::size_t i = 0; i < requests_.size() && count < most;) {
            Completion completion = read(requests_[i]);
            if (tamper_ && !tamper_(requests_[i], completion)) {
                ++i;
                continue;
            }
            out[count++] = completion;
            requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (count >= min || requests_.empty() || now_ns() >= until) return count;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

EngineFactory test_engines(TestEngine::Tamper tamper, std::uint64_t seed) {
    return [tamper = std::move(tamper), seed](const EngineOptions& options) -> std::unique_ptr<Engine> {
        if (options.kind == EngineKind::pread) return make_engine(options);
        return std::make_unique<TestEngine>(options, seed, tamper);
    };
}

}  // namespace feedline::test
