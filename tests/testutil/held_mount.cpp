#include "tests/testutil/held_mount.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

constexpr std::uint64_t kFirstFile = FUSE_ROOT_ID + 1;  // node number of file 0
constexpr std::size_t kRequestBytes = 1 << 17;          // more than the kernel ever sends a server that only reads
constexpr std::uint64_t kForeverS = 3600;               // how long the kernel may believe names and attributes

template <typename Header>
Header take(std::span<const char> bytes, std::size_t offset = 0) {
    Header header{};
    if (offset + sizeof header <= bytes.size()) std::memcpy(&header, bytes.data() + offset, sizeof header);
    return header;
}

fuse_attr attributes(std::uint64_t node, std::uint64_t bytes) {
    fuse_attr attr{};
    attr.ino = node;
    attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755U : S_IFREG | 0644U;
    attr.nlink = 1;
    attr.size = bytes;
    attr.blksize = 4096;
    return attr;
}

int mount_at(const std::string& path, int device) {
    const std::string options = "fd=" + std::to_string(device) + ",rootmode=40755,user_id=0,group_id=0";
    return ::mount("held", path.c_str(), "fuse.held", MS_NOSUID | MS_NODEV | MS_RDONLY, options.c_str());
}

}  // namespace

std::string HeldMount::refusal() {
    const Fd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device) return "/dev/fuse: " + std::generic_category().message(errno);
    const TempDir dir;
    if (mount_at(dir.path(), device.get()) != 0) return "mount: " + std::generic_category().message(errno);
    ::umount2(dir.path().c_str(), MNT_DETACH);
    return {};
}

HeldMount::HeldMount(std::string path, std::vector<std::string> contents, const Held& held)
    : path_(std::move(path)),
      contents_(std::move(contents)),
      held_(held),
      device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC)) {
    if (!device_ || !wake_ || mount_at(path_, device_.get()) != 0) {
        throw std::runtime_error("cannot mount a FUSE filesystem: " + std::generic_category().message(errno));
    }
    server_ = std::thread([this] { serve(); });
}

HeldMount::~HeldMount() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
    server_.join();
    device_.reset();  // the kernel answers for a server that is gone
    ::umount2(path_.c_str(), MNT_DETACH);
}

std::string HeldMount::name(std::size_t file) {
    const std::string digits = std::to_string(file);
    return std::string(3 - std::min<std::size_t>(3, digits.size()), '0') + digits;
}

std::uint64_t HeldMount::bytes_of(std::uint64_t node) const {
    return node == FUSE_ROOT_ID ? 0 : contents_.at(node - kFirstFile).size();
}

void HeldMount::serve() {
    std::vector<char> request(kRequestBytes);
    std::array<pollfd, 2> ready{{{device_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    while (true) {
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
        if (ready[1].revents != 0) return;
        const ssize_t bytes = ::read(device_.get(), request.data(), request.size());
        if (bytes < 0 && errno == ENODEV) return;  // unmounted
        if (bytes > 0) answer_one(std::span(request).first(static_cast<std::size_t>(bytes)));
    }
}

void HeldMount::reply(std::uint64_t unique, int error, std::span<const char> body) {
    fuse_out_header header{};
    header.len = static_cast<std::uint32_t>(sizeof header + body.size());
    header.error = -error;
    header.unique = unique;
    const std::array<iovec, 2> parts{
        {{&header, sizeof header}, {const_cast<char*>(body.data()), body.size()}}};  // writev() leaves it as it is
    static_cast<void>(::writev(device_.get(), parts.data(), parts.size()));
}

bool HeldMount::holds(What what, std::uint64_t node, std::uint64_t unique) {
    if (what != held_.what || node != kFirstFile + held_.file) return false;
    waiting_.push_back(unique);
    ++held_count_;
    return true;
}

void HeldMount::list(std::uint64_t unique, std::uint64_t offset, std::size_t room) {
    std::string entries;
    for (std::uint64_t file = offset; file < contents_.size(); ++file) {
        const std::string entry_name = name(file);
        fuse_dirent entry{};
        entry.ino = kFirstFile + file;
        entry.off = file + 1;
        entry.namelen = static_cast<std::uint32_t>(entry_name.size());
        entry.type = S_IFREG >> 12;
        const std::size_t bytes = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry_name.size());
        if (entries.size() + bytes > room) break;
        std::string piece(bytes, '\0');
        std::memcpy(piece.data(), &entry, FUSE_NAME_OFFSET);
        entry_name.copy(piece.data() + FUSE_NAME_OFFSET, entry_name.size());
        entries += piece;
    }
    reply(unique, 0, entries);
}

void HeldMount::answer_one(std::span<const char> request) {
    const auto header = take<fuse_in_header>(request);
    const std::uint64_t unique = header.unique;
    switch (header.opcode) {
        case FUSE_INIT: {
            fuse_init_out out{};
            out.major = FUSE_KERNEL_VERSION;
            out.minor = FUSE_KERNEL_MINOR_VERSION;
            out.max_readahead = 1 << 17;
            out.max_write = 4096;
            return reply_with(unique, out);
        }
        case FUSE_LOOKUP: {
            const std::string_view wanted(request.data() + sizeof header);
            std::size_t file = contents_.size();
            std::from_chars(wanted.data(), wanted.data() + wanted.size(), file);
            if (file >= contents_.size() || wanted != name(file)) return reply(unique, ENOENT, {});
            fuse_entry_out out{};
            out.nodeid = kFirstFile + file;
            out.entry_valid = kForeverS;
            out.attr_valid = kForeverS;
            out.attr = attributes(out.nodeid, bytes_of(out.nodeid));
            return reply_with(unique, out);
        }
        case FUSE_GETATTR: {
            fuse_attr_out out{};
            out.attr_valid = kForeverS;
            out.attr = attributes(header.nodeid, bytes_of(header.nodeid));
            return reply_with(unique, out);
        }
        case FUSE_OPEN:
        case FUSE_OPENDIR: {
            const auto in = take<fuse_open_in>(request, sizeof header);
            if ((in.flags & O_NOATIME) != 0 && holds(What::open, header.nodeid, unique)) return;
            return reply_with(unique, fuse_open_out{});
        }
        case FUSE_READDIR: {
            const auto in = take<fuse_read_in>(request, sizeof header);
            return list(unique, in.offset, in.size);
        }
        case FUSE_READ: {
            if (holds(What::read, header.nodeid, unique)) return;
            const auto in = take<fuse_read_in>(request, sizeof header);
            const std::string_view all = content(header.nodeid - kFirstFile);
            return reply(unique, 0, all.substr(std::min<std::size_t>(in.offset, all.size()), in.size));
        }
        case FUSE_STATFS: return reply_with(unique, fuse_statfs_out{});
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_FLUSH: return reply(unique, 0, {});
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET: return;
        case FUSE_INTERRUPT: {
            const auto in = take<fuse_interrupt_in>(request, sizeof header);
            if (std::erase(waiting_, in.unique) > 0) reply(in.unique, EINTR, {});
            return;
        }
        default: return reply(unique, ENOSYS, {});
    }
}

}  // namespace feedline::test
