// Random requests, depths and schedules of submit and reap, from a seed: every request completes exactly once, with its
// own bytes, and nothing around its destination changes.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

class Schedules : public testing::TestWithParam<EngineCase> {};

INSTANTIATE_TEST_SUITE_P(Engines, Schedules, testing::ValuesIn(reading_engines()),
                         [](const auto& tested) { return case_name(tested.param); });

// Also severs reads and fills the ring, at random.
class RandomFaults final : public ScriptedFaults {
public:
    explicit RandomFaults(unsigned seed) : random_(seed) {}
    std::uint64_t on_read_length(std::uint64_t, std::uint64_t length) override {
        return random_() % 8 == 0 ? 1 + random_() % length : length;
    }
    bool on_submit() override { return random_() % 16 != 0; }

private:
    std::mt19937_64 random_;
};

void run_schedule(const EngineCase& engine_case, unsigned seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const unsigned depth = 1 + static_cast<unsigned>(random() % 40);
    RandomFaults faults(seed);
    EngineLab lab(engine_case, depth, random() % 2 == 0 ? &faults : nullptr);
    std::vector<std::string> contents;
    for (unsigned i = 0; i < 10; ++i) {
        contents.push_back(pattern(random() % 3 == 0 ? random() % 300000 : random() % 6000, seed + i));
        lab.make_file("f" + std::to_string(i), contents.back());
    }
    const Fd shard = lab.open("f0");

    struct Expected {
        std::uint64_t file, offset, length;
        bool vanished;
    };
    std::vector<Expected> expected;
    std::vector<ReadRequest> requests;
    for (unsigned i = 0; i < 150; ++i) {
        Expected e{random() % contents.size(), 0, 0, random() % 10 == 0};
        switch (random() % 3) {
            case 0:
                e.file = 0;
                e.vanished = false;
                e.offset = random() % (contents[0].size() + 1);
                e.length = random() % (contents[0].size() + 1 - e.offset);
                requests.push_back(lab.open_part(shard.get(), e.offset, e.length));
                break;
            case 1:
                e.offset = random() % (contents[e.file].size() + 1);
                e.length = random() % (contents[e.file].size() + 1 - e.offset);
                requests.push_back(
                    lab.part(e.vanished ? "vanished" : "f" + std::to_string(e.file), e.offset, e.length));
                break;
            default:
                e.length = contents[e.file].size();
                requests.push_back(lab.whole(e.vanished ? "vanished" : "f" + std::to_string(e.file), e.length));
        }
        expected.push_back(e);
    }

    std::vector<unsigned> completions(requests.size(), 0);
    std::vector<Completion> out(depth + 3);
    std::size_t submitted = 0;
    std::size_t complete = 0;
    while (complete < requests.size()) {
        if (random() % 2 == 0) {
            const std::size_t some = std::min<std::size_t>(random() % (depth + 2), requests.size() - submitted);
            submitted += lab.engine().submit(std::span(requests).subspan(submitted, some));
        }
        ASSERT_EQ(lab.engine().in_flight(), submitted - complete);
        const std::span<Completion> room = std::span(out).first(1 + random() % out.size());
        const Nanoseconds timeout = random() % 2 == 0 ? -1 : static_cast<Nanoseconds>(random() % 100000);
        const std::size_t count = lab.engine().reap(random() % (room.size() + 1), room, timeout);
        ASSERT_LE(count, room.size());
        for (const Completion& completion : room.first(count)) {
            ASSERT_LT(completion.tag, submitted);
            ++completions[completion.tag];
            const Expected& e = expected[completion.tag];
            if (e.vanished) {
                ASSERT_EQ(completion.result, -ENOENT);
            } else {
                ASSERT_EQ(completion.result, static_cast<std::int64_t>(e.length));
                ASSERT_FALSE(completion.grew);
                ASSERT_EQ(lab.destination(completion.tag).payload(e.length),
                          std::string_view(contents[e.file]).substr(e.offset, e.length));
            }
            ASSERT_TRUE(lab.destination(completion.tag).guards_intact());
        }
        complete += count;
    }
    for (const unsigned times : completions) ASSERT_EQ(times, 1U);
    ASSERT_EQ(lab.engine().in_flight(), 0U);
}

TEST_P(Schedules, AnyScheduleDeliversEachRequestOnce) {
    for (unsigned seed = 1; seed <= 20 && !HasFatalFailure(); ++seed) run_schedule(GetParam(), seed);
}

TEST_P(Schedules, EnginesOnSeveralThreadsDoNotKnowOfEachOther) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            for (unsigned seed = 100 * t; seed < 100 * t + 4; ++seed) run_schedule(GetParam(), seed);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace feedline::test
