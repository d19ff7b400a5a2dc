#include "bench/coldness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::pattern;
using test::TempDir;
using test::write_file;

constexpr std::uint64_t kPage = PageCount::kPageBytes;

AskedBytes asked(const Dataset& dataset) {
    return {logical_bytes(dataset), logical_bytes(dataset)};
}

// Samples at given places in given files.
class ExtentDataset final : public Dataset {
public:
    ExtentDataset(std::vector<std::string> paths, std::vector<Extent> extents)
        : paths_(std::move(paths)), extents_(std::move(extents)) {
        info_.samples = extents_.size();
        info_.shards = paths_.size();
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = extents_[ids[i]];
    }
    Source source(ShardId shard, std::string& /*scratch*/) const override {
        return {.fd = -1, .dir_fd = AT_FDCWD, .name = paths_[shard].c_str(), .whole_file = true};
    }
    std::string path(ShardId shard) const override { return paths_[shard]; }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId /*id*/) const override { return std::nullopt; }

private:
    std::vector<std::string> paths_;
    std::vector<Extent> extents_;
    DatasetInfo info_;
};

// `count` files below `dir`, of sizes around a few pages, the last one empty.
ExtentDataset small_files(const TempDir& dir, unsigned count) {
    std::vector<std::string> paths;
    std::vector<Extent> extents;
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t bytes = i + 1 == count ? 0 : 1 + (i * 7919) % 30'000;
        paths.push_back(dir / ("f" + std::to_string(i)));
        write_file(paths.back(), pattern(bytes, i));
        extents.push_back({0, bytes, i});
    }
    return {std::move(paths), std::move(extents)};
}

bool has_page_cache_of_its_own(const TempDir& dir) {
    return filesystem_class(tier_info(dir.path()).fs_type) == "block";
}

TEST(Coldness, EvictedFilesAreNotResidentAndWarmedOnesAre) {
    const TempDir dir;
    if (!has_page_cache_of_its_own(dir)) GTEST_SKIP() << "TMPDIR is not on a block device: nothing can be evicted";
    const ExtentDataset dataset = small_files(dir, 300);
    const Interrupt interrupt;
    if (!resident_fraction(dataset, 2)) GTEST_SKIP() << "this kernel tells nothing about residency";
    EXPECT_EQ(resident_fraction(dataset, 2), 1.0);  // just written, still dirty
    EXPECT_EQ(evict(dataset, 2, {}, interrupt), 0U);
    EXPECT_EQ(resident_fraction(dataset, 2), 0.0);
    warm_up(dataset, 2, {}, interrupt);
    EXPECT_EQ(resident_fraction(dataset, 2), 1.0);
    EXPECT_EQ(test::read_file(dir / "f5"), pattern(1 + 5 * 7919 % 30'000, 5));
}

TEST(Coldness, ProcessReadBytesSeeAColdRead) {
    const TempDir dir;
    const TierInfo tier = tier_info(dir.path());
    if (!has_page_cache_of_its_own(dir) || tier.compressed || !device_counters(tier).process_read_bytes)
        GTEST_SKIP() << "no witness for TMPDIR";
    const ExtentDataset dataset = small_files(dir, 300);
    const Interrupt interrupt;
    evict(dataset, 2, {}, interrupt);
    const std::optional<double> resident = resident_fraction(dataset, 2);
    if (!resident) GTEST_SKIP() << "this kernel tells nothing about residency";
    const DeviceCounters before = device_counters(tier);
    warm_up(dataset, 2, {}, interrupt);
    const CacheCertificate cold = certify(tier, {resident, before, device_counters(tier), asked(dataset)});
    EXPECT_GE(cold.device_bytes.value(), logical_bytes(dataset) * 95 / 100);
    EXPECT_EQ(cold.witness, "/proc/self/io");
    const DeviceCounters again = device_counters(tier);
    warm_up(dataset, 2, {}, interrupt);
    const CacheCertificate warm =
        certify(tier, {resident_fraction(dataset, 2), again, device_counters(tier), asked(dataset)});
    EXPECT_LE(warm.device_bytes.value(), logical_bytes(dataset) / 100);
    if (tier.tier_kind != "unknown" && !tier.cached_below) {
        EXPECT_EQ(cold.verdict, "cold");
        EXPECT_EQ(warm.verdict, "warm");
    }
}

// An overlay of two empty directories, for as long as it lives.
class Overlay {
public:
    explicit Overlay(const TempDir& dir) : merged_(dir / "merged") {
        for (const char* part : {"lower", "upper", "work", "merged"}) {
            std::filesystem::create_directory(dir / part);
        }
        const std::string options =
            "lowerdir=" + dir / "lower" + ",upperdir=" + dir / "upper" + ",workdir=" + dir / "work";
        mounted_ = ::mount("overlay", merged_.c_str(), "overlay", 0, options.c_str()) == 0;
    }
    ~Overlay() {
        if (mounted_) ::umount2(merged_.c_str(), MNT_DETACH);
    }
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;
    bool mounted() const { return mounted_; }

private:
    std::string merged_;
    bool mounted_ = false;
};

// Its own inodes have no pages: what is asked must be the files below.
TEST(Coldness, AnOverlaysPagesAreThoseOfTheFilesBelow) {
    const TempDir dir;
    if (!has_page_cache_of_its_own(dir)) GTEST_SKIP() << "TMPDIR is not on a block device: nothing can be evicted";
    const Overlay overlay(dir);
    if (!overlay.mounted()) GTEST_SKIP() << "no overlay can be mounted here";
    std::vector<std::string> paths;
    std::vector<Extent> extents;
    for (unsigned i = 0; i < 50; ++i) {
        const std::string name = "f" + std::to_string(i);
        write_file(dir / (i % 2 == 0 ? "lower/" : "merged/") + name, pattern(20'000, i));
        paths.push_back(dir / "merged/" + name);
        extents.push_back({0, 20'000, i});
    }
    const ExtentDataset dataset(std::move(paths), std::move(extents));
    const TierInfo tier = tier_info(dir / "merged");
    EXPECT_EQ(tier.fs_type, "overlay");
    EXPECT_EQ(tier.block_device, tier_info(dir.path()).block_device);
    const Interrupt interrupt;
    evict(dataset, 2, {}, interrupt);
    EXPECT_EQ(resident_fraction(dataset, 2), 0.0);
    const auto read_it = [&] {
        const std::optional<double> resident = resident_fraction(dataset, 2);
        const DeviceCounters before = device_counters(tier);
        warm_up(dataset, 2, {}, interrupt);
        return certify(tier, {resident, before, device_counters(tier), asked(dataset)});
    };
    if (!device_counters(tier).process_read_bytes || tier.compressed || tier.cached_below) return;
    EXPECT_EQ(read_it().verdict, "cold");
    EXPECT_EQ(read_it().verdict, "warm");
}

TEST(Coldness, ResidencyOfASampleOfTheFiles) {
    const TempDir dir("/dev/shm");
    const ExtentDataset dataset = small_files(dir, 200);
    if (!resident_fraction(dataset, 1)) GTEST_SKIP() << "this kernel tells nothing about residency";
    EXPECT_EQ(resident_fraction(dataset, 1, 10), 1.0);
    EXPECT_EQ(resident_fraction(ExtentDataset({}, {}), 1), std::nullopt);
}

TEST(Coldness, FilesThatCannotBeOpenedAreCounted) {
    const TempDir dir("/dev/shm");
    const ExtentDataset dataset = small_files(dir, 20);
    std::filesystem::remove(dir / "f3");
    std::filesystem::remove(dir / "f4");
    const Interrupt interrupt;
    EXPECT_EQ(evict(dataset, 3, {}, interrupt), 2U);
    warm_up(dataset, 3, {}, interrupt);
}

TEST(Coldness, ProgressEndsWithTheWhole) {
    const TempDir dir("/dev/shm");
    const ExtentDataset dataset = small_files(dir, 100);
    const Interrupt interrupt;
    std::vector<CacheProgress> seen;
    evict(
        dataset, 2, [&](const CacheProgress& progress) { seen.push_back(progress); }, interrupt);
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back().done, 100U);
    EXPECT_EQ(seen.back().total, 100U);
}

TEST(Coldness, InterruptEndsIt) {
    const TempDir dir("/dev/shm");
    const ExtentDataset dataset = small_files(dir, 100);
    Interrupt interrupt;
    interrupt.request();
    for (const bool evicting : {true, false}) {
        try {
            if (evicting)
                evict(dataset, 2, {}, interrupt);
            else
                warm_up(dataset, 2, {}, interrupt);
            FAIL() << "not interrupted";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::interrupted);
        }
    }
}

TEST(Coldness, DroppingCachesIsRefusedInOneLine) {
    const TempDir dir;
    try {
        drop_caches(dir / "absent");
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
}

struct Case {
    const char* name;
    const char* fs_type;
    const char* tier_kind;
    std::optional<double> resident;
    std::optional<std::uint64_t> process;  // bytes between the two looks, of 1000 that must come
    std::optional<std::uint64_t> device;
    bool dropped;
    const char* verdict;
    const char* metadata;
    const char* witness;
    bool compressed = false;
    bool cached_below = false;
    bool direct = false;
};

class Certificate : public testing::TestWithParam<Case> {};

TEST_P(Certificate, FollowsTheRules) {
    const Case& c = GetParam();
    TierInfo tier;
    tier.fs_type = c.fs_type;
    tier.tier_kind = c.tier_kind;
    if (tier.tier_kind != "ram") tier.block_device = "sda";
    tier.compressed = c.compressed;
    tier.cached_below = c.cached_below;
    DeviceCounters before;
    DeviceCounters after;
    if (c.process) {
        before.process_read_bytes = 5'000;
        after.process_read_bytes = 5'000 + *c.process;
    }
    if (c.device) {
        before.device_read_bytes = 70'000;
        after.device_read_bytes = 70'000 + *c.device;
    }
    const CacheCertificate certificate = certify(tier, {.resident_before = c.resident,
                                                        .before = before,
                                                        .after = after,
                                                        .asked = {4'000, 1'000},
                                                        .direct = c.direct,
                                                        .metadata_dropped = c.dropped});
    EXPECT_EQ(certificate.verdict, c.verdict);
    EXPECT_EQ(certificate.metadata, c.metadata);
    EXPECT_EQ(certificate.witness, c.witness);
    EXPECT_EQ(certificate.logical_bytes, 4'000U);
    EXPECT_EQ(certificate.least_bytes, 1'000U);
    EXPECT_EQ(certificate.resident_before, c.resident);
    EXPECT_EQ(certificate.reason.empty(), certificate.verdict != "unknown") << certificate.reason;
}

constexpr const char* kIo = "/proc/self/io";
constexpr const char* kDisk = "diskstats sda";
constexpr std::nullopt_t kNone = std::nullopt;

std::string name_of(const testing::TestParamInfo<Case>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Certificate,
    testing::Values(
        Case{"cold", "ext4", "local-ssd", 0.0, 1000, 1000, false, "cold", "warm", kIo},
        Case{"cold_at_the_limits", "xfs", "local-hdd", 0.01, 950, kNone, false, "cold", "warm", kIo},
        Case{"read_ahead_beyond", "ext4", "local-ssd", 0.0, 1500, kNone, true, "cold", "cold", kIo},
        Case{"partly_resident_and_nothing_read", "ext4", "local-ssd", 0.6, 0, kNone, false, "warm", "warm", kIo},
        Case{"too_little_from_the_device", "ext4", "local-ssd", 0.0, 940, kNone, false, "mixed", "warm", kIo},
        Case{"too_much_resident", "ext4", "local-ssd", 0.02, 1000, kNone, false, "mixed", "warm", kIo},
        Case{"warm", "ext4", "local-ssd", 1.0, 0, 0, false, "warm", "warm", kIo},
        Case{"warm_at_the_limits", "ext4", "local-ssd", 0.99, 10, kNone, false, "warm", "warm", kIo},
        Case{"resident_and_yet_read", "ext4", "local-ssd", 1.0, 1000, kNone, false, "mixed", "warm", kIo},
        Case{"only_diskstats", "ext4", "local-ssd", 0.0, kNone, 1000, false, "cold", "warm", kDisk},
        Case{"no_witness", "ext4", "local-ssd", 0.0, kNone, kNone, false, "unknown", "warm", "none"},
        Case{"no_answer_on_residency", "ext4", "local-ssd", kNone, 1000, 1000, false, "unknown", "warm", kIo},
        Case{"compressed", "btrfs", "local-ssd", 0.0, 990, kNone, false, "unknown", "warm", kIo, true},
        Case{"memory", "tmpfs", "ram", 1.0, 0, kNone, true, "warm", "warm", "none"},
        Case{"network", "nfs4", "network", 0.0, 0, kNone, false, "unknown", "unknown", "none"},
        Case{"network_dropped", "ceph", "network", 0.0, 1000, kNone, true, "unknown", "cold", "none"},
        Case{"fuse", "fuse.mergerfs", "fuse", 0.0, 0, kNone, false, "unknown", "unknown", "none"},
        Case{"overlay_on_a_disk", "overlay", "local-ssd", 0.0, 1000, kNone, false, "cold", "unknown", kIo},
        Case{"unknown_device_read", "overlay", "unknown", 0.0, 1000, kNone, false, "cold", "unknown", kIo},
        Case{"overlay_on_memory", "overlay", "ram", 1.0, 0, kNone, false, "warm", "warm", "none"},
        Case{"overlay_on_a_network", "overlay", "network", 0.0, 1000, kNone, false, "unknown", "unknown", "none"},
        Case{"unknown_device_not_read", "zfs", "unknown", 0.0, 0, kNone, false, "unknown", "unknown", kIo},
        Case{"unknown_device_from_memory", "overlay", "unknown", 1.0, 0, kNone, false, "warm", "unknown", kIo},
        Case{"unknown_device_in_part", "overlay", "unknown", 0.5, 500, kNone, false, "unknown", "unknown", kIo},
        Case{"from_nowhere", "ext4", "local-ssd", 0.0, 0, kNone, false, "unknown", "warm", kIo},
        Case{"direct_past_memory", "ext4", "local-ssd", 1.0, 1000, kNone, false, "cold", "warm", kIo, false, false,
             true},
        Case{"direct_of_files_of_others", "ext4", "local-ssd", kNone, 1000, kNone, false, "cold", "warm", kIo, false,
             false, true},
        Case{"direct_served_from_memory", "ext4", "local-ssd", 1.0, 0, kNone, false, "warm", "warm", kIo, false, false,
             true},
        Case{"direct_served_in_part", "ext4", "local-ssd", 1.0, 500, kNone, false, "mixed", "warm", kIo, false, false,
             true},
        Case{"direct_in_memory", "tmpfs", "ram", 1.0, 1000, kNone, false, "warm", "warm", "none", false, false, true},
        Case{"direct_loop_over_cache", "ext4", "loop", 0.0, 1000, kNone, false, "unknown", "warm", kIo, false, true,
             true},
        Case{"loop_over_cache", "ext4", "loop", 0.0, 1000, kNone, false, "unknown", "warm", kIo, false, true},
        Case{"loop_over_cache_warm", "ext4", "loop", 1.0, 0, kNone, false, "warm", "warm", kIo, false, true},
        Case{"loop_direct", "ext4", "loop", 0.0, 1000, kNone, false, "cold", "warm", kIo}),
    name_of);

TEST(Certificate, CountersThatWentBackTellNothing) {
    TierInfo tier;
    tier.fs_type = "ext4";
    tier.tier_kind = "local-ssd";
    DeviceCounters before;
    before.process_read_bytes = 10;
    DeviceCounters after;
    after.process_read_bytes = 9;
    const CacheCertificate certificate = certify(tier, {0.0, before, after, {1'000, 1'000}});
    EXPECT_EQ(certificate.verdict, "unknown");
    EXPECT_FALSE(certificate.device_bytes);
}

TEST(Certificate, NothingReadProvesNothing) {
    TierInfo tier;
    tier.fs_type = "ext4";
    tier.tier_kind = "local-ssd";
    DeviceCounters none;
    none.process_read_bytes = 0;
    EXPECT_EQ(certify(tier, {0.0, none, none, {}}).verdict, "unknown");
}

TEST(PageCount, PagesOfWholeFiles) {
    const ExtentDataset dataset({"a", "b", "c", "d"}, {{0, 1, 0}, {0, kPage, 1}, {0, kPage + 1, 2}, {0, 0, 3}});
    EXPECT_EQ(logical_bytes(dataset), 4 * kPage);
    const std::vector<SampleId> some{2, 0, 2};
    EXPECT_EQ(logical_bytes(dataset, some), 3 * kPage);
    EXPECT_EQ(logical_bytes(dataset, {}), 0U);
}

TEST(PageCount, CountsInOtherUnits) {
    PageCount count(512);
    const Extent extents[] = {{0, 1, 0}, {511, 2, 1}, {1024, 761, 2}};
    count.add(extents);
    EXPECT_EQ(count.bytes(), (1 + 2 + 2) * 512U);
}

TEST(PageCount, NeighboursShareAPage) {
    // Three records of 1000 bytes on one page, one across two pages, one far away in another shard.
    const std::vector<Extent> extents{
        {0, 1000, 0}, {1000, 1000, 0}, {2000, 1000, 0}, {4000, 200, 0}, {1U << 20U, 10, 1}};
    const ExtentDataset dataset({"a", "b"}, extents);
    EXPECT_EQ(logical_bytes(dataset), 3 * kPage);
}

TEST(PageCount, OrderDoesNotMatter) {
    std::vector<Extent> extents;
    for (std::uint64_t i = 0; i < 1000; ++i) extents.push_back({i * 777, 777, static_cast<ShardId>(i % 3)});
    const auto pages_of = [](const std::vector<Extent>& all) {
        PageCount count;
        count.add(all);
        return count.pages();
    };
    const std::uint64_t expected = pages_of(extents);
    // Brute force: a flag a page.
    std::vector<std::vector<bool>> touched(3, std::vector<bool>(777'000 / kPage + 2));
    for (const Extent& extent : extents)
        for (std::uint64_t byte = extent.offset_bytes; byte < extent.offset_bytes + extent.length_bytes; ++byte)
            touched[extent.shard][byte / kPage] = true;
    std::uint64_t pages = 0;
    for (const auto& shard : touched) pages += static_cast<std::uint64_t>(std::count(shard.begin(), shard.end(), true));
    EXPECT_EQ(expected, pages);
    std::reverse(extents.begin(), extents.end());
    EXPECT_EQ(pages_of(extents), pages);
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
        return a.shard != b.shard ? a.shard < b.shard : a.offset_bytes < b.offset_bytes;
    });
    EXPECT_EQ(pages_of(extents), pages);
}

}  // namespace
}  // namespace feedline
