// A regular file that is held open to be read later, when its name may be gone or another file's.
#pragma once

#include <cstdint>
#include <string>

namespace crayon {

class HeldFile {
  public:
    // std::system_error where nothing can be opened, and for a pipe or a device, which could block or never end.
    explicit HeldFile(const std::string& path);
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
