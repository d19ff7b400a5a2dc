// What every engine owes its callers, whatever it is made of: run over each engine that this build and kernel have.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

constexpr std::uint64_t kSizes[] = {0,    1,    511,    512,    513,    761,    4095,      4096,
                                    4097, 8192, 131071, 131072, 131073, 114660, 1U << 20U, (1U << 20U) + 1};

class Conformance : public testing::TestWithParam<EngineCase> {};

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, testing::ValuesIn(reading_engines()),
                         [](const auto& tested) { return case_name(tested.param); });

TEST_P(Conformance, WholeFilesOfEverySizeArriveByteForByte) {
    EngineLab lab(GetParam(), 4);
    for (const std::uint64_t size : kSizes) {
        lab.make_file(std::to_string(size), pattern(size, static_cast<unsigned>(size)));
        lab.whole(std::to_string(size), size);
    }
    const std::vector<Completion> completions = lab.run();
    for (std::size_t i = 0; i < std::size(kSizes); ++i) {
        SCOPED_TRACE(kSizes[i]);
        EXPECT_EQ(completions[i].result, static_cast<std::int64_t>(kSizes[i]));
        EXPECT_FALSE(completions[i].grew);
        EXPECT_EQ(lab.destination(i).payload(kSizes[i]), pattern(kSizes[i], static_cast<unsigned>(kSizes[i])));
    }
}

// Where the filesystem lives in memory nothing leaves the cache, and this is one more read of what is there.
TEST_P(Conformance, FilesInMemoryInPartOrNotAtAllArriveByteForByte) {
    EngineLab lab(GetParam(), 4);
    constexpr unsigned long long kPage = 4096;
    std::vector<std::string> contents;
    for (const auto size : {1ULL, 761ULL, 2 * kPage, 2 * kPage + 5, 114'660ULL, (1ULL << 20U) + 3}) {
        for (const auto kept : {0ULL, kPage, size / 2 / kPage * kPage, size}) {
            const std::string name = std::to_string(size) + "-" + std::to_string(kept);
            contents.push_back(pattern(size, static_cast<unsigned>(size + kept)));
            lab.make_file(name, contents.back());
            const Fd fd = lab.open(name);
            ASSERT_EQ(fdatasync(fd.get()), 0);
            if (kept < size) {
                ASSERT_EQ(posix_fadvise(fd.get(), static_cast<off_t>(kept), 0, POSIX_FADV_DONTNEED), 0);
            }
            lab.whole(name, size);
        }
    }
    const std::vector<Completion> completions = lab.run();
    for (std::size_t i = 0; i < contents.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(completions[i].result, static_cast<std::int64_t>(contents[i].size()));
        EXPECT_FALSE(completions[i].grew);
        EXPECT_EQ(lab.destination(i).payload(contents[i].size()), contents[i]);
    }
}

TEST_P(Conformance, PartsOfAFileAreReadFromAnOpenDescriptorAndByName) {
    EngineLab lab(GetParam(), 8);
    const std::string content = pattern((1U << 20U) + 77, 3);
    lab.make_file("shard", content);
    const Fd fd = lab.open("shard");
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
    for (const std::uint64_t offset : {0ULL, 1ULL, 511ULL, 512ULL, 4095ULL, 4096ULL, 65537ULL, 1048576ULL}) {
        for (const std::uint64_t length : {0ULL, 1ULL, 76ULL, 512ULL, 761ULL, 4096ULL, 131073ULL}) {
            if (offset + length > content.size()) continue;
            extents.emplace_back(offset, length);
            lab.open_part(fd.get(), offset, length);
            extents.emplace_back(offset, length);
            lab.part("shard", offset, length);
        }
    }
    const std::vector<Completion> completions = lab.run();
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const auto [offset, length] = extents[i];
        SCOPED_TRACE(testing::Message() << "offset " << offset << " length " << length);
        EXPECT_EQ(completions[i].result, static_cast<std::int64_t>(length));
        EXPECT_FALSE(completions[i].grew) << "growth is a whole file's affair";
        EXPECT_EQ(lab.destination(i).payload(length), content.substr(offset, length));
        if (i % 2 == 0) {
            EXPECT_EQ(completions[i].issued_ns, completions[i].opened_ns) << "there was nothing to open";
        }
    }
    EXPECT_GE(fcntl(fd.get(), F_GETFD), 0) << "a descriptor that is the caller's stays open";
}

TEST_P(Conformance, OffsetsBeyondFourGibibytes) {
    EngineLab lab(GetParam(), 2);
    lab.make_file("sparse", "");
    const std::uint64_t offset = (5ULL << 30U) + 12345;
    const std::string content = pattern(10000, 5);
    const Fd writer(::open((lab.dir() / "sparse").c_str(), O_WRONLY));
    ASSERT_EQ(pwrite(writer.get(), content.data(), content.size(), static_cast<off_t>(offset)), 10000);
    const Fd fd = lab.open("sparse");
    lab.open_part(fd.get(), offset, content.size());
    lab.part("sparse", offset - 100, 100);
    lab.part("sparse", offset + 9000, 5000);
    const std::vector<Completion> completions = lab.run();
    EXPECT_EQ(completions[0].result, 10000);
    EXPECT_EQ(lab.destination(0).payload(10000), content);
    EXPECT_EQ(completions[1].result, 100);
    EXPECT_EQ(lab.destination(1).payload(100), std::string(100, '\0'));
    EXPECT_EQ(completions[2].result, 1000) << "the file ends before the extent does";
    EXPECT_EQ(lab.destination(2).payload(1000), content.substr(9000));
}

TEST_P(Conformance, AFileThatShrankGivesWhatIsThere) {
    EngineLab lab(GetParam(), 4);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> cases;  // size, expected
    for (const std::uint64_t size : {0ULL, 1ULL, 500ULL, 512ULL, 4096ULL, 5000ULL, 65536ULL}) {
        for (const std::uint64_t missing : {1ULL, 512ULL, 70000ULL}) {
            lab.make_file(std::to_string(size), pattern(size, 9));
            cases.emplace_back(size, size + missing);
            lab.whole(std::to_string(size), size + missing);
        }
    }
    const std::vector<Completion> completions = lab.run();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "size " << cases[i].first << " expected " << cases[i].second);
        EXPECT_EQ(completions[i].result, static_cast<std::int64_t>(cases[i].first));
        EXPECT_FALSE(completions[i].grew);
        EXPECT_EQ(lab.destination(i).payload(cases[i].first), pattern(cases[i].first, 9));
    }
}

TEST_P(Conformance, AFileThatGrewIsReported) {
    EngineLab lab(GetParam(), 4);
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t size : {0ULL, 1ULL, 511ULL, 512ULL, 4095ULL, 4096ULL, 65536ULL}) {
        for (const std::uint64_t more : {1ULL, 512ULL, 70000ULL}) {
            const std::string name = std::to_string(size) + "+" + std::to_string(more);
            lab.make_file(name, pattern(size + more, 11));
            lab.whole(name, size);
            expected.push_back(size);
        }
    }
    const std::vector<Completion> completions = lab.run();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        SCOPED_TRACE(expected[i]);
        EXPECT_EQ(completions[i].result, static_cast<std::int64_t>(expected[i]));
        EXPECT_TRUE(completions[i].grew);
        EXPECT_EQ(lab.destination(i).payload(expected[i]), pattern(expected[i] + 70000, 11).substr(0, expected[i]));
    }
}

TEST_P(Conformance, WhatCannotBeReadIsAnErrno) {
    EngineLab lab(GetParam(), 3);
    lab.make_file("file", "content");
    std::filesystem::create_directory(lab.dir() / "directory");
    std::filesystem::create_symlink("nowhere", lab.dir() / "dangling");
    std::filesystem::create_symlink("loop", lab.dir() / "loop");
    lab.whole("vanished", 10);
    lab.whole("directory", 10);
    lab.whole("dangling", 10);
    lab.whole("loop", 10);
    lab.whole("file/below", 10);
    lab.whole(std::string(300, 'n'), 10);
    lab.whole("file", 7);
    const std::vector<Completion> completions = lab.run();
    EXPECT_EQ(completions[0].result, -ENOENT);
    EXPECT_LT(completions[1].result, 0);
    EXPECT_EQ(completions[2].result, -ENOENT);
    EXPECT_EQ(completions[3].result, -ELOOP);
    EXPECT_EQ(completions[4].result, -ENOTDIR);
    EXPECT_EQ(completions[5].result, -ENAMETOOLONG);
    EXPECT_EQ(completions[6].result, 7) << "failures before it leave an engine in order";
}

TEST_P(Conformance, ABadDescriptorIsAnErrno) {
    EngineLab lab(GetParam(), 1);
    lab.make_file("file", "content");
    int closed = -1;
    {
        const Fd fd = lab.open("file");
        closed = fd.get();
    }
    lab.open_part(closed, 0, 7);
    EXPECT_EQ(lab.run_one().result, -EBADF);
}

TEST_P(Conformance, AnIoErrorOfTheKernelArrives) {
    if (GetParam().alignment.direct() || GetParam().kind == EngineKind::mmap) {
        GTEST_SKIP() << "/proc/self/mem takes neither O_DIRECT nor a mapping";
    }
    EngineLab lab(GetParam(), 1);
    const Fd mem(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    lab.open_part(mem.get(), 0, 100);  // nothing is mapped at address 0
    EXPECT_EQ(lab.run_one().result, -EIO);
}

TEST_P(Conformance, SymlinksAreFollowedAndNamesAreBytes) {
    EngineLab lab(GetParam(), 4);
    const std::string odd = "a \xff\xfe\n\t\"'\\%s*\xc3\xa9";
    lab.make_file(odd, "odd");
    std::filesystem::create_symlink(odd, lab.dir() / "link");
    lab.make_file(std::string(255, 'x'), "long");
    lab.make_file("sub/deeper/file.tar.gz", "deep");
    lab.whole(odd, 3);
    lab.whole("link", 3);
    lab.whole(std::string(255, 'x'), 4);
    lab.whole("sub/deeper/file.tar.gz", 4);
    const std::vector<Completion> completions = lab.run();
    for (const Completion& completion : completions) {
        EXPECT_GT(completion.result, 0);
        EXPECT_FALSE(completion.grew);
    }
    EXPECT_EQ(lab.destination(0).payload(3), "odd");
    EXPECT_EQ(lab.destination(1).payload(3), "odd");
    EXPECT_EQ(lab.destination(2).payload(4), "long");
    EXPECT_EQ(lab.destination(3).payload(4), "deep");
}

TEST_P(Conformance, AFifoInPlaceOfAFileIsAnErrnoAndNoHang) {
    EngineLab lab(GetParam(), 2);
    ASSERT_EQ(mkfifo((lab.dir() / "fifo").c_str(), 0600), 0);
    lab.whole("fifo", 10);
    EXPECT_LT(lab.run_one().result, 0) << "a FIFO that nobody writes to";
    const Fd writer(::open((lab.dir() / "fifo").c_str(), O_RDWR | O_CLOEXEC));
    lab.whole("fifo", 10);
    EXPECT_LT(lab.run_one().result, 0) << "a FIFO whose writer is silent";
}

TEST_P(Conformance, NothingLeaksWhateverFails) {
    ScriptedFaults faults;
    EngineLab lab(GetParam(), 4, &faults);
    lab.make_file("file", pattern(5000, 1));
    std::filesystem::create_directory(lab.dir() / "directory");
    const std::size_t before = open_descriptors();
    for (unsigned round = 0; round < 25; ++round) {
        for (unsigned i = 0; i < 8; ++i) {
            lab.whole("file", 5000);
            lab.whole("vanished", 5000);
            lab.whole("directory", 5000);
            lab.whole("file", 6000);
        }
        if (round % 3 == 1) faults.fail_opens(EMFILE, 3);
        if (round % 3 == 2) faults.fail_reads(EIO, 3);
        lab.run();
        EXPECT_EQ(open_descriptors(), before);
    }
    faults.fail_opens(0, 0);
    faults.fail_reads(0, 0);
    lab.whole("file", 5000);
    EXPECT_EQ(lab.run_one().result, 5000);
}

TEST_P(Conformance, DestroyingAnEngineWithRequestsInFlightIsSafe) {
    EngineLab lab(GetParam(), 16);
    lab.make_file("file", pattern(1U << 20U, 1));
    const std::size_t before = open_descriptors();
    std::vector<ReadRequest> requests;
    for (unsigned i = 0; i < 16; ++i) requests.push_back(lab.whole("file", 1U << 20U));
    lab.new_engine(16, nullptr);
    ASSERT_EQ(lab.engine().submit(requests), 16U);
    std::array<Completion, 2> out;
    lab.engine().reap(1, out, -1);
    lab.drop_engine();
    for (unsigned i = 0; i < 16; ++i) EXPECT_TRUE(lab.destination(i).guards_intact());
    EXPECT_LE(open_descriptors(), before);
}

TEST_P(Conformance, TheQueueHoldsItsDepthAndPollingAnEmptyEngineReturns) {
    EngineLab lab(GetParam(), 3);
    EXPECT_EQ(lab.engine().max_queue_depth(), 3U);
    lab.make_file("file", "content");
    std::vector<ReadRequest> requests;
    for (unsigned i = 0; i < 5; ++i) requests.push_back(lab.whole("file", 7));
    std::array<Completion, 8> out;
    EXPECT_EQ(lab.engine().reap(0, out, 0), 0U);
    EXPECT_EQ(lab.engine().reap(1, out, -1), 0U) << "nothing is in flight, so there is nothing to wait for";
    EXPECT_EQ(lab.engine().submit(requests), 3U);
    EXPECT_EQ(lab.engine().in_flight(), 3U);
    EXPECT_EQ(lab.engine().submit(std::span(requests).subspan(3)), 0U);
    std::size_t reaped = 0;
    while (reaped < 3) reaped += lab.engine().reap(3 - reaped, out, -1);
    EXPECT_EQ(reaped, 3U);
    EXPECT_EQ(lab.engine().submit(std::span(requests).subspan(3)), 2U);
    reaped = 0;
    while (reaped < 2) reaped += lab.engine().reap(0, out, -1);  // polling makes progress
    EXPECT_EQ(reaped, 2U);
}

TEST_P(Conformance, AnEngineMadeOnOneThreadWorksOnAnother) {
    EngineLab lab(GetParam(), 4);
    lab.make_file("file", pattern(4097, 2));
    std::thread owner([&] {
        for (unsigned i = 0; i < 10; ++i) lab.whole("file", 4097);
        for (const Completion& completion : lab.run()) EXPECT_EQ(completion.result, 4097);
        lab.drop_engine();
    });
    owner.join();
}

}  // namespace
}  // namespace feedline::test
