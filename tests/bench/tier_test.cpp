#include "bench/tier.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::TempDir;
using test::write_file;

constexpr std::string_view kMountinfo =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n"
    "30 27 0:27 / /dev/shm rw - tmpfs tmpfs rw,size=24684084k\n"
    "31 27 0:40 / /data rw,noatime shared:2 master:3 - nfs4 server:/export rw,vers=4.2\n"
    "32 27 0:41 /sub /data/my\\040set rw - btrfs /dev/sdb2 rw,compress=zstd:3,space_cache=v2\n"
    "33 27 0:42 / /home/a rw - fuse.sshfs a@b:/ rw\n"
    "34 27 0:43 / /home/b rw - fuse.mergerfs pool rw\n"
    "35 27 0:44 / /home rw - fuseblk /dev/sdc1 rw\n"
    "36 27 0:45 / /over rw - overlay overlay rw,lowerdir=/l,upperdir=/nonexistent/upper,workdir=/w\n"
    "37 27 0:45 broken line\n"
    "38 27 0:46 / /over rw - tmpfs second rw\n";

// A sysfs with a solid-state disk of two partitions, a rotating one, a guest's, and two loop devices.
class FakeSysfs {
public:
    FakeSysfs() {
        disk("sda", "8:0", "0");
        partition("sda", "sda1", "8:1");
        disk("sdb", "8:16", "1");
        disk("vda", "254:0", "1");
        partition("vda", "vda1", "254:1");
        disk("loop0", "7:0", "0");
        write_file(dir_ / "devices/loop0/loop/dio", "0\n");
        disk("loop1", "7:1", "0");
        write_file(dir_ / "devices/loop1/loop/dio", "1\n");
        disk("zram0", "253:0", "0");
    }
    const std::string& path() const { return dir_.path(); }
    void btrfs(const std::string& name, const std::string& device) {
        write_file(dir_ / ("fs/btrfs/" + name + "/devices/" + device), "");
    }

private:
    void disk(const std::string& name, const std::string& number, const std::string& rotational) {
        write_file(dir_ / ("devices/" + name + "/queue/rotational"), rotational + "\n");
        link(name, number);
    }
    void partition(const std::string& disk, const std::string& name, const std::string& number) {
        write_file(dir_ / ("devices/" + disk + "/" + name + "/partition"), "1\n");
        link(disk + "/" + name, number);
    }
    void link(const std::string& target, const std::string& number) {
        std::filesystem::create_directories(dir_ / "dev/block");
        std::filesystem::create_symlink("../../devices/" + target, dir_ / ("dev/block/" + number));
    }
    TempDir dir_;
};

Mount on(unsigned major, unsigned minor, std::string fs_type = "ext4") {
    Mount mount;
    mount.major = major;
    mount.minor = minor;
    mount.mount_point = "/data";
    mount.fs_type = std::move(fs_type);
    mount.source = "source";
    return mount;
}

TEST(Tier, MountinfoIsParsed) {
    const std::vector<Mount> mounts = parse_mountinfo(kMountinfo);
    ASSERT_EQ(mounts.size(), 10U);  // the broken line is left out
    EXPECT_EQ(mounts[1].id, 27U);
    EXPECT_EQ(mounts[1].major, 254U);
    EXPECT_EQ(mounts[1].minor, 1U);
    EXPECT_EQ(mounts[1].fs_type, "ext4");
    EXPECT_EQ(mounts[1].source, "/dev/vda1");
    EXPECT_EQ(mounts[3].fs_type, "nfs4");  // after two optional fields
    EXPECT_EQ(mounts[4].mount_point, "/data/my set");
    EXPECT_EQ(mounts[4].super_options, "rw,compress=zstd:3,space_cache=v2");
    EXPECT_TRUE(parse_mountinfo("").empty());
}

TEST(Tier, MountIsTheNearestAboveAndTheLatest) {
    const std::vector<Mount> mounts = parse_mountinfo(kMountinfo);
    EXPECT_EQ(find_mount(mounts, "/")->mount_point, "/");
    EXPECT_EQ(find_mount(mounts, "/data/x/y")->mount_point, "/data");
    EXPECT_EQ(find_mount(mounts, "/database")->mount_point, "/");
    EXPECT_EQ(find_mount(mounts, "/data/my set")->mount_point, "/data/my set");
    EXPECT_EQ(find_mount(mounts, "/over/f")->source, "second");
    EXPECT_EQ(find_mount({}, "/x"), nullptr);
}

TEST(Tier, KindsByFilesystem) {
    const std::vector<Mount> mounts = parse_mountinfo(kMountinfo);
    const FakeSysfs sysfs;
    const auto tier = [&](std::string_view path) {
        return describe_mount(*find_mount(mounts, path), path, mounts, sysfs.path());
    };
    EXPECT_EQ(tier("/dev/shm").tier_kind, "ram");
    EXPECT_EQ(tier("/data").tier_kind, "network");
    EXPECT_EQ(tier("/data").device, "server:/export");
    EXPECT_EQ(tier("/data").block_device, "");
    EXPECT_EQ(tier("/home/a").tier_kind, "network");
    EXPECT_EQ(tier("/home/b").tier_kind, "fuse");
    EXPECT_EQ(tier("/home/c").tier_kind, "fuse");
    EXPECT_TRUE(tier("/data/my set").compressed);
    EXPECT_FALSE(tier("/data").compressed);
    // The upper directory of a container's overlay is on the host.
    const TierInfo overlay = describe_mount(mounts[8], "/over", mounts, sysfs.path());
    EXPECT_EQ(overlay.fs_type, "overlay");
    EXPECT_EQ(overlay.tier_kind, "unknown");
}

TEST(Tier, LayersOfAnOverlayAreNamedByItsOptions) {
    Mount mount = on(0, 45, "overlay");
    mount.super_options = R"(rw,lowerdir=/a\:b\,c d:/e,upperdir=/u,workdir=/w)";
    EXPECT_EQ(overlay_layers(mount), (std::vector<std::string>{"/u", "/a:b,c d", "/e"}));
    mount.super_options = "ro,lowerdir+=/a:b,lowerdir+=/c,redirect_dir=on";
    EXPECT_EQ(overlay_layers(mount), (std::vector<std::string>{"/a:b", "/c"}));
    mount.super_options = "rw";
    EXPECT_TRUE(overlay_layers(mount).empty());
}

// A solid-state disk at /, a rotating one at `rotating`, and an overlay at /data with a layer on each.
class OverlayTier : public testing::Test {
protected:
    OverlayTier() {
        mounts_[0].mount_point = "/";
        mounts_[0].source = "/dev/sda1";
        mounts_[1].mount_point = rotating_.path();
        mounts_[1].source = "/dev/sdb";
        mounts_[2].root = "/";
        mounts_[2].super_options = "rw,lowerdir=" + rotating_.path() + ",upperdir=" + upper_.path();
        write_file(upper_ / "new/f", "x");
        write_file(rotating_ / "old/f", "x");
        write_file(upper_ / "both/f", "x");
        write_file(rotating_ / "both/g", "x");
    }
    TierInfo tier(std::string_view path) const { return describe_mount(mounts_[2], path, mounts_, sysfs_.path()); }

    FakeSysfs sysfs_;
    TempDir upper_;
    TempDir rotating_;
    std::vector<Mount> mounts_{on(8, 1), on(8, 16), on(0, 45, "overlay")};
};

TEST_F(OverlayTier, IsWhatTheLayerIsThatHoldsThePath) {
    const TierInfo fresh = tier("/data/new");
    EXPECT_EQ(fresh.fs_type, "overlay");
    EXPECT_EQ(fresh.mount_point, "/data");
    EXPECT_EQ(fresh.tier_kind, "local-ssd");
    EXPECT_EQ(fresh.block_device, "sda1");
    EXPECT_EQ(tier("/data/old").tier_kind, "local-hdd");
    EXPECT_EQ(tier("/data/old").block_device, "sdb");
    EXPECT_EQ(tier("/data/old/f").path_below, rotating_ / "old/f");
}

TEST_F(OverlayTier, IsUnknownWhereItsLayersDiffer) {
    for (const char* path : {"/data", "/data/both"}) {
        EXPECT_EQ(tier(path).tier_kind, "unknown") << path;
        EXPECT_EQ(tier(path).block_device, "") << path;
    }
    mounts_[1].mount_point = "/elsewhere";  // both on one disk
    EXPECT_EQ(tier("/data/both").block_device, "sda1");
    EXPECT_EQ(tier("/data/nowhere").tier_kind, "unknown");
}

TEST_F(OverlayTier, ABindMountOfAPartIsFollowed) {
    mounts_[2].root = "/old";
    EXPECT_EQ(tier("/data/f").path_below, rotating_ / "old/f");
    EXPECT_EQ(tier("/data").block_device, "sdb");
}

TEST(Tier, BlockDevices) {
    const FakeSysfs sysfs;
    const auto tier = [&](unsigned major, unsigned minor) {
        return describe_mount(on(major, minor), "/data", {}, sysfs.path());
    };
    EXPECT_EQ(tier(8, 0).tier_kind, "local-ssd");
    EXPECT_EQ(tier(8, 1).tier_kind, "local-ssd");
    EXPECT_EQ(tier(8, 1).block_device, "sda1");
    EXPECT_EQ(tier(8, 16).tier_kind, "local-hdd");
    EXPECT_EQ(tier(254, 1).tier_kind, "virtual-disk");
    EXPECT_EQ(tier(254, 1).block_device, "vda1");
    EXPECT_EQ(tier(7, 0).tier_kind, "loop");
    EXPECT_TRUE(tier(7, 0).cached_below);
    EXPECT_FALSE(tier(7, 1).cached_below);
    EXPECT_EQ(tier(253, 0).tier_kind, "ram");
    EXPECT_EQ(tier(99, 9).tier_kind, "unknown");
    EXPECT_EQ(tier(99, 9).block_device, "");
}

TEST(Tier, FilesystemOverSeveralDevicesHasNoLineInDiskstats) {
    FakeSysfs sysfs;
    sysfs.btrfs("one", "sda1");
    EXPECT_EQ(describe_mount(on(8, 1, "btrfs"), "/data", {}, sysfs.path()).block_device, "sda1");
    sysfs.btrfs("one", "sdb");
    EXPECT_EQ(describe_mount(on(8, 1, "btrfs"), "/data", {}, sysfs.path()).block_device, "");
}

TEST(Tier, CompressionIsTakenFromTheOptions) {
    const auto compressed = [](std::string fs_type, std::string options) {
        Mount mount = on(99, 9, std::move(fs_type));
        mount.super_options = std::move(options);
        return describe_mount(mount, "/data", {}, "/nonexistent").compressed;
    };
    EXPECT_TRUE(compressed("btrfs", "rw,compress-force=zstd"));
    EXPECT_TRUE(compressed("btrfs", "rw,compress"));
    EXPECT_FALSE(compressed("btrfs", "rw,compress=no"));
    EXPECT_FALSE(compressed("btrfs", "rw"));
    EXPECT_TRUE(compressed("squashfs", "ro"));
    EXPECT_TRUE(compressed("f2fs", "rw,compress_algorithm=lz4"));
    EXPECT_FALSE(compressed("ext4", "rw"));
}

TEST(Tier, CountersAreParsed) {
    EXPECT_EQ(parse_process_read_bytes("rchar: 1\nsyscr: 2\nread_bytes: 4096\nwrite_bytes: 9\n"), 4096U);
    EXPECT_FALSE(parse_process_read_bytes("rchar: 1\n"));
    EXPECT_FALSE(parse_process_read_bytes(""));
    constexpr std::string_view kDiskstats =
        "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
        " 254       0 vda 31579 8731 3202058 8191 9091 4400 727480 2513 0 5940 11036 2786 0\n"
        " 254       1 vda1 11 2 16 4 0 0 0 0 0 0 0\n";
    const auto disk = parse_diskstats(kDiskstats, "vda");
    ASSERT_TRUE(disk);
    EXPECT_EQ(disk->reads, 31579U);
    EXPECT_EQ(disk->read_bytes, 3202058U * 512);
    EXPECT_EQ(parse_diskstats(kDiskstats, "vda1")->reads, 11U);
    EXPECT_FALSE(parse_diskstats(kDiskstats, "sda"));
}

TEST(Tier, ReadsOfOthersAreNotThisRuns) {
    const DeviceCounters before{1000, 5000, 10};
    EXPECT_EQ(own_device_reads(before, {1000 + 8192, 5000 + 8192, 12}), 2U);
    // A warm run on a disk that others read from meanwhile.
    EXPECT_EQ(own_device_reads(before, {1000, 5000 + 8192, 12}), std::nullopt);
    EXPECT_EQ(own_device_reads(before, {1000 + 100'000, 5000 + 200'000, 40}), std::nullopt);
    EXPECT_EQ(own_device_reads(before, {1000 + 98'000, 5000 + 100'000, 40}), 30U);
    EXPECT_EQ(own_device_reads(before, before), 0U);
    // The process may have read from other devices as well.
    EXPECT_EQ(own_device_reads(before, {1000 + 500'000, 5000 + 8192, 12}), 2U);
    // Nothing known of the process: the device's count stands. Nothing known of the device: none.
    EXPECT_EQ(own_device_reads({{}, 5000, 10}, {{}, 9096, 11}), 1U);
    EXPECT_EQ(own_device_reads({1000, {}, {}}, {9000, {}, {}}), std::nullopt);
    EXPECT_EQ(own_device_reads(before, {1000, 4000, 5}), std::nullopt) << "counters that went back";
}

TEST(Tier, ThisMachine) {
    const TierInfo shm = tier_info("/dev/shm");
    EXPECT_EQ(shm.fs_type, "tmpfs");
    EXPECT_EQ(shm.tier_kind, "ram");
    const TempDir dir;
    std::filesystem::create_directory_symlink(dir.path(), dir / "link");
    EXPECT_EQ(tier_info(dir / "link").mount_point, tier_info(dir.path()).mount_point);
    EXPECT_THROW(tier_info(dir / "absent"), Error);
    EXPECT_EQ(tier_info(dir / "*.tar").mount_point, tier_info(dir.path()).mount_point);
    const DeviceCounters none = device_counters(shm);
    EXPECT_FALSE(none.device_reads);
}

}  // namespace
}  // namespace feedline
