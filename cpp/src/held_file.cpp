#include "crayon/held_file.h"

#include <atomic>
#include <cerrno>
#include <system_error>

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace crayon {
namespace {

std::atomic<int64_t> held{0};

[[noreturn]] void raise(int code, const std::string& path) {
    throw std::system_error(code, std::generic_category(), path);
}

}  // namespace

int64_t HeldFile::count() {
    return held;
}

#if defined(_WIN32)

// An open file there cannot be renamed over or removed.
HeldFile::HeldFile(const std::string& path) {
    raise(ENOSYS, path);
}

HeldFile::~HeldFile() = default;

bool HeldFile::is_ours() const {
    return false;
}

#else

HeldFile::HeldFile(const std::string& path) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) raise(errno, path);
    struct stat found {};
    const int code = ::fstat(descriptor_, &found) != 0 ? errno
                     : S_ISDIR(found.st_mode)          ? EISDIR
                     : S_ISREG(found.st_mode)          ? 0
                                                       : EINVAL;
    if (code != 0) {
        ::close(descriptor_);
        raise(code, path);
    }
    device_ = uint64_t(found.st_dev);
    inode_ = uint64_t(found.st_ino);
    ++held;
}

HeldFile::~HeldFile() {
    if (is_ours()) ::close(descriptor_);
    --held;
}

bool HeldFile::is_ours() const {
    struct stat found {};
    return ::fstat(descriptor_, &found) == 0 && uint64_t(found.st_dev) == device_ && uint64_t(found.st_ino) == inode_;
}

#endif

}  // namespace crayon
