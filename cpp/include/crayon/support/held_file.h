// A file or directory that is held open, when its name may be gone or another file's.
#pragma once

#include <cstdint>
#include <string>

namespace crayon {

// A descriptor of a regular file, to read it; the caller's to close. std::system_error where nothing can be opened, and
// for a pipe or a device, which could block or never end.
int open_regular(const std::string& path);

class HeldFile {
  public:
    enum class Kind { file, directory };

    // std::system_error for anything but a regular file, or a directory.
    HeldFile(const std::string& path, Kind kind);
    ~HeldFile();
    HeldFile(const HeldFile&) = delete;
    HeldFile& operator=(const HeldFile&) = delete;

    int descriptor() const { return descriptor_; }
    // A program that closes all descriptors closes this one, and another file may have the number after that.
    bool is_ours() const;

    // How many there are in this process.
    static int64_t count();

  private:
    int descriptor_ = -1;
    uint64_t device_ = 0, inode_ = 0;
};

}  // namespace crayon
