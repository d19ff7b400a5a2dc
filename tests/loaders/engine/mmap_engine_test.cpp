// What only mappings know: pages that are gone when they are copied.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "loaders/engine/sigbus_guard.h"
#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

constexpr std::uint64_t kBytes = 300000;

// Truncates a file when the copy has got to a certain place.
class Truncating final : public ScriptedFaults {
public:
    Truncating(std::string path, std::uint64_t when_left_bytes, std::uint64_t to_bytes)
        : path_(std::move(path)), when_left_bytes_(when_left_bytes), to_bytes_(to_bytes) {
        sever_reads(10000);
    }
    std::uint64_t on_read_length(std::uint64_t tag, std::uint64_t length) override {
        if (length <= when_left_bytes_ && truncate(path_.c_str(), static_cast<off_t>(to_bytes_)) != 0) return 0;
        return ScriptedFaults::on_read_length(tag, length);
    }

private:
    std::string path_;
    std::uint64_t when_left_bytes_, to_bytes_;
};

TEST(MmapEngine, AFileThatShrinksWhileItIsCopiedIsAShortRead) {
    for (const std::uint64_t to_bytes : {0ULL, 1ULL, 5000ULL, 8192ULL, 150000ULL, 299999ULL}) {
        for (const std::uint64_t when_left : {300000ULL, 160000ULL, 10000ULL}) {
            SCOPED_TRACE(testing::Message() << "to " << to_bytes << " with " << when_left << " left");
            EngineLab lab({EngineKind::mmap, {}}, 1);
            lab.make_file("file", pattern(kBytes, 2));
            Truncating faults(lab.dir() / "file", when_left, to_bytes);
            lab.new_engine(1, &faults);
            lab.whole("file", kBytes);
            const Completion completion = lab.run_one();
            EXPECT_EQ(completion.result, static_cast<std::int64_t>(to_bytes));
            EXPECT_EQ(lab.destination(0).payload(to_bytes), pattern(kBytes, 2).substr(0, to_bytes));
        }
    }
}

TEST(MmapEngine, TheEngineGoesOnAfterwards) {
    EngineLab lab({EngineKind::mmap, {}}, 4);
    lab.make_file("shrunk", pattern(100, 2));
    lab.make_file("file", pattern(kBytes, 2));
    for (unsigned i = 0; i < 20; ++i) {
        lab.whole("shrunk", kBytes);
        lab.whole("file", kBytes);
    }
    const std::vector<Completion> completions = lab.run();
    for (unsigned i = 0; i < 40; i += 2) {
        EXPECT_EQ(completions[i].result, 100);
        EXPECT_EQ(completions[i + 1].result, static_cast<std::int64_t>(kBytes));
    }
}

TEST(MmapEngine, FaultsOnSeveralThreadsAreToldApart) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            EngineLab lab({EngineKind::mmap, {}}, 1);
            const std::uint64_t size = t % 2 == 0 ? 5000 : kBytes;
            lab.make_file("file", pattern(size, t));
            for (unsigned i = 0; i < 50; ++i) lab.whole("file", kBytes);
            for (const Completion& completion : lab.run()) {
                EXPECT_EQ(completion.result, static_cast<std::int64_t>(size));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

// A page of a mapping whose file is empty: touching it raises SIGBUS.
const char* poisoned_page() {
    const int fd = memfd_create("empty", 0);
    void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return static_cast<const char*>(page);
}

TEST(SigbusGuard, ACopyOutOfPagesThatAreGoneSaysSo) {
    install_sigbus_guard();
    const char* page = poisoned_page();
    std::byte destination[64];
    EXPECT_FALSE(guarded_copy(destination, reinterpret_cast<const std::byte*>(page), sizeof destination));
    const std::byte source[64] = {};
    EXPECT_TRUE(guarded_copy(destination, source, sizeof destination));
}

char load(const char* address) {
    return *static_cast<const volatile char*>(address);
}

TEST(SigbusGuardDeathTest, AFaultOutsideOfTheCopyKillsAsEver) {
    EXPECT_EXIT(
        {
            signal(SIGBUS, SIG_DFL);
            install_sigbus_guard();
            load(poisoned_page());
        },
        testing::KilledBySignal(SIGBUS), "");
}

TEST(SigbusGuardDeathTest, ASignalThatWasSentKillsAsEver) {
    EXPECT_EXIT(
        {
            signal(SIGBUS, SIG_DFL);
            install_sigbus_guard();
            raise(SIGBUS);
        },
        testing::KilledBySignal(SIGBUS), "");
}

TEST(SigbusGuardDeathTest, AnEarlierHandlerStillHearsOfIt) {
    EXPECT_EXIT(
        {
            signal(SIGBUS, [](int) { _exit(7); });
            install_sigbus_guard();
            load(poisoned_page());
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace feedline::test
