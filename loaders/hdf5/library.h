// libhdf5 as the rest of this folder calls it: one caller at a time, identifiers with owners, errors as text.
//
// The library is not thread-safe, or, where it was built to be, takes one lock of its own around everything it does; so
// there is one lock for the whole process, LibraryLock, and every call below hdf5:: is made with it held. A reader of
// HDF5 therefore never reads with more than one thread at once, however many there are: that is a property of the
// format's library, and what the other engines are measured against.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace feedline::hdf5 {

// Must live for as long as anything of the library is called, destructors of Id included. Not recursive.
class LibraryLock {
public:
    LibraryLock();

private:
    std::lock_guard<std::mutex> lock_;
};

// Whatever the library gives an identifier for; closed with its owner. Move-only.
class Id {
public:
    Id() = default;
    explicit Id(hid_t id) : id_(id) {}
    Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
    Id& operator=(Id&& other) noexcept {
        if (this != &other) {
            reset();
            id_ = std::exchange(other.id_, H5I_INVALID_HID);
        }
        return *this;
    }
    Id(const Id&) = delete;
    Id& operator=(const Id&) = delete;
    ~Id() { reset(); }

    hid_t get() const { return id_; }
    explicit operator bool() const { return id_ >= 0; }
    hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }
    void reset() {
        if (id_ >= 0) H5Idec_ref(std::exchange(id_, H5I_INVALID_HID));
    }

private:
    hid_t id_ = H5I_INVALID_HID;
};

// Why the library's last call on this thread failed.
struct Problem {
    std::string text;        // in the library's words; never empty
    bool truncated = false;  // the file is shorter than it says
    bool in_use = false;     // another process holds it open for writing, or died doing so
    bool device = false;     // the operating system could not read
};

Problem last_problem();

}  // namespace feedline::hdf5
