// The memory of a cartridge: a shared read-only map of its file, or a copy.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/error.h"

#if defined(_WIN32)
#include <fstream>
#include <iterator>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace crayon {
namespace {

class OwnedStorage final : public Storage {
  public:
    // The caller fills the memory. Zeros follow it up to a multiple of 64 bytes, as after the end of a mapped file.
    explicit OwnedStorage(size_t size) : lines_(new Line[(size + 63) / 64]), size_(size) {
        if (size % 64 != 0) lines_[size / 64] = {};
    }
    Bytes bytes() const override { return {lines_.get()->bytes, size_}; }
    uint8_t* data() { return lines_.get()->bytes; }
    void shrink(size_t size) { size_ = size; }

  private:
    struct alignas(64) Line {
        uint8_t bytes[64];
    };
    std::unique_ptr<Line[]> lines_;
    size_t size_;
};

bool copies_files() {
    const char* const way = std::getenv("CRAYON_MAP");
    if (way == nullptr || *way == '\0') return false;
    if (std::string_view(way) == "copy") return true;
    throw Error(ErrorKind::argument,
                "CRAYON_MAP is \"" + std::string(way) + "\", expected \"copy\", or nothing to map files");
}

#if !defined(_WIN32)

[[noreturn]] void raise_errno(const std::string& path) {
    throw std::system_error(errno, std::generic_category(), path);
}

int64_t nanoseconds(const timespec& t) {
    return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

FileIdentity identity_of(const struct stat& st) {
#if defined(__APPLE__)
    const timespec &modified = st.st_mtimespec, &changed = st.st_ctimespec;
#else
    const timespec &modified = st.st_mtim, &changed = st.st_ctim;
#endif
    return {uint64_t(st.st_size), nanoseconds(modified), nanoseconds(changed), uint64_t(st.st_ino),
            uint64_t(st.st_dev)};
}

// A regular file whose size a cartridge can have.
class OpenFile {
  public:
    explicit OpenFile(const std::string& path)
        // O_NONBLOCK: opening a FIFO must not wait for a writer.
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (fd_ < 0) raise_errno(path);
        try {
            check(path);
        } catch (...) {
            ::close(fd_);
            throw;
        }
    }
    ~OpenFile() { ::close(fd_); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    int fd() const { return fd_; }
    size_t size() const { return size_t(identity_.size); }
    const FileIdentity& identity() const { return identity_; }

  private:
    void check(const std::string& path) {
        struct stat st {};
        if (::fstat(fd_, &st) != 0) raise_errno(path);
        if (S_ISDIR(st.st_mode)) {
            errno = EISDIR;
            raise_errno(path);
        }
        if (!S_ISREG(st.st_mode)) throw Error(ErrorKind::cartridge, path + ": not a regular file");
        if (uint64_t(st.st_size) > kMaxFile)
            throw Error(ErrorKind::cartridge, path + ": too large for a cartridge: " + std::to_string(st.st_size) +
                                                  " bytes, more than the " + std::to_string(kMaxFile) + " allowed");
        identity_ = identity_of(st);
    }

    const int fd_;
    FileIdentity identity_;
};

class MappedStorage final : public Storage {
  public:
    MappedStorage(const OpenFile& file, const std::string& path) : identity_(file.identity()), size_(file.size()) {
        if (size_ == 0) return;
        void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.fd(), 0);
        if (address == MAP_FAILED) raise_errno(path);
        data_ = static_cast<const uint8_t*>(address);
    }
    ~MappedStorage() override {
        if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
    }
    MappedStorage(const MappedStorage&) = delete;
    MappedStorage& operator=(const MappedStorage&) = delete;
    Bytes bytes() const override { return {data_, size_}; }
    std::optional<FileIdentity> identity() const override { return identity_; }

  private:
    const FileIdentity identity_;
    const size_t size_;
    const uint8_t* data_ = nullptr;
};

// If the file is truncated meanwhile, the copy ends where reading ended.
std::shared_ptr<const Storage> copy_file(const OpenFile& file, const std::string& path) {
    constexpr size_t kAtOnce = size_t(1) << 30;  // some systems read at most 2^31 bytes
    auto storage = std::make_shared<OwnedStorage>(file.size());
    size_t done = 0;
    while (done < file.size()) {
        const ssize_t n = ::read(file.fd(), storage->data() + done, std::min(file.size() - done, kAtOnce));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) raise_errno(path);
        if (n == 0) break;
        done += size_t(n);
    }
    storage->shrink(done);
    return storage;
}

#endif

}  // namespace

std::shared_ptr<const Storage> own_bytes(Bytes bytes) {
    auto storage = std::make_shared<OwnedStorage>(bytes.size);
    if (bytes.size != 0) std::memcpy(storage->data(), bytes.data, bytes.size);
    return storage;
}

std::shared_ptr<const Storage> open_file(const std::string& path) {
    const bool copies = copies_files();
#if defined(_WIN32)
    (void)copies;  // this platform maps nothing
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::system_error(ENOENT, std::generic_category(), path);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return own_bytes(all);
#else
    const OpenFile file(path);
    if (copies) return copy_file(file, path);
    return std::make_shared<MappedStorage>(file, path);
#endif
}

}  // namespace crayon
