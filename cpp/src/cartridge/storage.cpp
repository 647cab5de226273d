// Where a cartridge's bytes live: a shared read-only map of its file, or a copy in memory.
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "crayon/cartridge/cartridge.h"
#include "crayon/cartridge/mapped_file.h"
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
    explicit OwnedStorage(Bytes bytes) : words_((bytes.size + 63) / 64), size_(bytes.size) {
        if (size_ != 0) std::memcpy(words_.data(), bytes.data, size_);
    }
    Bytes bytes() const override { return {reinterpret_cast<const uint8_t*>(words_.data()), size_}; }

  private:
    struct alignas(64) Line {
        uint8_t bytes[64];
    };
    std::vector<Line> words_;
    size_t size_;
};

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

class MappedStorage final : public Storage {
  public:
    explicit MappedStorage(const std::string& path) {
        // O_NONBLOCK: opening a FIFO must not wait for a writer.
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) raise_errno(path);
        struct stat st {};
        if (::fstat(fd, &st) != 0) {
            const int saved = errno;
            ::close(fd);
            errno = saved;
            raise_errno(path);
        }
        if (S_ISDIR(st.st_mode)) {
            ::close(fd);
            errno = EISDIR;
            raise_errno(path);
        }
        if (!S_ISREG(st.st_mode)) {
            ::close(fd);
            throw Error(ErrorKind::cartridge, path + ": not a regular file");
        }
        if (uint64_t(st.st_size) > kMaxFile) {
            ::close(fd);
            throw Error(ErrorKind::cartridge, path + ": too large for a cartridge: " + std::to_string(st.st_size) +
                                                  " bytes, of " + std::to_string(kMaxFile) + " at most");
        }
        size_ = size_t(st.st_size);
        identity_ = identity_of(st);
        if (size_ != 0) {
            void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
            const int saved = errno;
            ::close(fd);
            if (address == MAP_FAILED) {
                errno = saved;
                raise_errno(path);
            }
            data_ = static_cast<const uint8_t*>(address);
            file_.emplace(bytes(), path);
            mapped_ = &*file_;
        } else {
            ::close(fd);
        }
    }
    ~MappedStorage() override {
        file_.reset();
        if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
    }
    MappedStorage(const MappedStorage&) = delete;
    MappedStorage& operator=(const MappedStorage&) = delete;
    Bytes bytes() const override { return {data_, size_}; }
    std::optional<FileIdentity> identity() const override { return identity_; }
    void remember_ends() {
        if (file_) read_mapped(mapped_, [&] { file_->remember_ends(); });
    }

  private:
    const uint8_t* data_ = nullptr;
    size_t size_ = 0;
    std::optional<MappedFile> file_;
    FileIdentity identity_;
};

#endif

}  // namespace

std::shared_ptr<const Storage> own_bytes(Bytes bytes) {
    return std::make_shared<OwnedStorage>(bytes);
}

std::shared_ptr<const Storage> map_file(const std::string& path) {
#if defined(_WIN32)
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::system_error(ENOENT, std::generic_category(), path);
    const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return own_bytes(all);
#else
    auto storage = std::make_shared<MappedStorage>(path);
    storage->remember_ends();
    return storage;
#endif
}

}  // namespace crayon
