#include "crayon/support/held_file.h"

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

// On Windows an open file cannot be renamed over or removed.
int open_regular(const std::string& path) {
    raise(ENOSYS, path);
}

HeldFile::HeldFile(const std::string& path, Kind) {
    raise(ENOSYS, path);
}

HeldFile::~HeldFile() = default;

bool HeldFile::is_ours() const {
    return false;
}

#else

int open_regular(const std::string& path) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) raise(errno, path);
    struct stat found {};
    const int code = ::fstat(descriptor, &found) != 0 ? errno
                     : S_ISDIR(found.st_mode)         ? EISDIR
                     : S_ISREG(found.st_mode)         ? 0
                                                      : EINVAL;
    if (code == 0) return descriptor;
    ::close(descriptor);
    raise(code, path);
}

HeldFile::HeldFile(const std::string& path, Kind kind)
    : descriptor_(kind == Kind::file ? open_regular(path) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY)) {
    if (descriptor_ < 0) raise(errno, path);
    struct stat found {};
    if (::fstat(descriptor_, &found) != 0) {
        const int code = errno;
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
