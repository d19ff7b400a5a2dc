#include "core/slab.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::TempDir;
using test::write_file;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

TEST(HostSlab, IsAlignedWritableAndZeroToTheLastByteOfItsTail) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, 2 * kMiB - 64, 2 * kMiB, 71 * kMiB + 5}) {
        const std::unique_ptr<Slab> slab = make_host_slab(bytes);
        EXPECT_EQ(slab->bytes(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab->data()) % (2 * kMiB), 0U);
        const std::uint64_t all = bytes + Slab::kTailBytes;
        for (std::uint64_t i = 0; i < all; i += 4096) ASSERT_EQ(slab->data()[i], std::byte{0}) << i;
        std::memset(slab->data(), 0x5A, all);
        EXPECT_EQ(slab->data()[all - 1], std::byte{0x5A});
    }
}

TEST(HostSlab, RefusesWhatDoesNotFitInOneLine) {
    for (const std::uint64_t bytes : {available_memory_bytes() * 2, kUnlimited, kUnlimited - 2 * kMiB}) {
        try {
            make_host_slab(bytes);
            FAIL() << "granted " << bytes;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(), HasSubstr("is needed"));
            EXPECT_THAT(error.what(), HasSubstr("are available"));
            EXPECT_THAT(error.what(), HasSubstr("--slots"));
            EXPECT_THAT(error.what(), HasSubstr("--batch-size"));
            EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
        }
    }
}

// A machine made of files.
class AvailableMemory : public testing::Test {
protected:
    void put(std::string_view path, std::string_view content) { write_file(root_ / path, content); }
    std::uint64_t available() const { return available_memory_bytes(root_.path()); }
    void meminfo(std::uint64_t kib) {
        put("proc/meminfo", "MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable:   " + std::to_string(kib) + " kB\n");
    }

    TempDir root_;
};

TEST_F(AvailableMemory, IsTheMachinesWithoutCgroups) {
    meminfo(1000);
    EXPECT_EQ(available(), 1024000U);
}

TEST_F(AvailableMemory, IsUnlimitedWhereNothingCanBeRead) {
    EXPECT_EQ(available(), kUnlimited);
}

TEST_F(AvailableMemory, TheLimitOfAddressSpaceCounts) {
    meminfo(1000);
    put("proc/self/status", "Name: feedline\nVmPeak:    500 kB\nVmSize:    300 kB\n");
    put("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max address space         512000               unlimited            bytes     \n");
    EXPECT_EQ(address_space_bytes(root_.path()), 307200U);
    EXPECT_EQ(available(), 512000U - 307200U);
    put("proc/self/limits", "Max address space         unlimited            unlimited            bytes     \n");
    EXPECT_EQ(available(), 1024000U);
    put("proc/self/limits", "Max address space         1000                 unlimited            bytes     \n");
    EXPECT_EQ(available(), 0U);
}

TEST_F(AvailableMemory, Version2TakesTheLeastAlongThePath) {
    meminfo(100000);
    put("proc/self/cgroup", "0::/outer/inner\n");
    put("proc/self/mountinfo", "24 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put("sys/fs/cgroup/outer/inner/memory.current", "700\n");
    put("sys/fs/cgroup/outer/memory.max", "5000\n");
    put("sys/fs/cgroup/outer/memory.current", "4000\n");
    put("sys/fs/cgroup/outer/memory.stat", "anon 2500\nfile 1500\ninactive_file 600\nactive_file 300\n");
    EXPECT_EQ(available(), 5000U - (4000U - 900U));  // page cache gives way
    put("sys/fs/cgroup/outer/inner/memory.high", "1500\n");
    EXPECT_EQ(available(), 800U);
}

TEST_F(AvailableMemory, Version1BesideVersion2) {
    meminfo(100000);
    put("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/jobs/a\n0::/\n");
    put("proc/self/mountinfo",
        "31 1 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/jobs/a/memory.usage_in_bytes", "10\n");
    put("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "8000\n");
    put("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "7000\n");
    put("sys/fs/cgroup/memory/jobs/memory.stat",
        "inactive_file 1\nactive_file 1\ntotal_inactive_file 2000\ntotal_active_file 1000\n");
    EXPECT_EQ(available(), 4000U);
}

TEST_F(AvailableMemory, ContainerSeesItsOwnCgroupAsTheMountsRoot) {
    meminfo(100000);
    put("proc/self/cgroup", "0::/docker/abc/job\n");
    put("proc/self/mountinfo", "24 1 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("sys/fs/cgroup/memory.max", "3000\n");
    put("sys/fs/cgroup/memory.current", "1000\n");
    put("sys/fs/cgroup/job/memory.max", "2500\n");
    put("sys/fs/cgroup/job/memory.current", "900\n");
    EXPECT_EQ(available(), 1600U);
}

TEST_F(AvailableMemory, UsageOverTheLimitLeavesNothing) {
    meminfo(100000);
    put("proc/self/cgroup", "0::/\n");
    put("proc/self/mountinfo", "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/memory.max", "1000\n");
    put("sys/fs/cgroup/memory.current", "1500\n");
    EXPECT_EQ(available(), 0U);
}

}  // namespace
}  // namespace feedline
