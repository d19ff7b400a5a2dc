// A filesystem that is soon full. Needs the right to mount; tests skip where it is refused.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <string>

#include "tests/testutil/temp_dir.h"

namespace feedline::test {

// A filesystem of 4 MiB and 200 inodes.
class SmallFilesystem {
public:
    SmallFilesystem() {
        std::filesystem::create_directory(path());
        mounted_ = ::mount("tmpfs", path().c_str(), "tmpfs", 0, "size=4m,nr_inodes=200") == 0;
    }
    ~SmallFilesystem() {
        if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
    }
    SmallFilesystem(const SmallFilesystem&) = delete;
    SmallFilesystem& operator=(const SmallFilesystem&) = delete;

    bool mounted() const { return mounted_; }
    std::string path() const { return dir_ / "small"; }

private:
    TempDir dir_;
    bool mounted_ = false;
};

}  // namespace feedline::test
