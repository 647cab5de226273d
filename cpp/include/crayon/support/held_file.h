// A file or directory that is held open, even if its name disappears or another file takes it.
#pragma once

#include <cstdint>
#include <string>

namespace crayon {

// Opens a regular file for reading. The caller closes the descriptor. Throws std::system_error if the file cannot be
// opened, or is a pipe or device, which could block or never end.
int open_regular(const std::string& path);

class HeldFile {
  public:
    enum class Kind { file, directory };

    // Throws std::system_error unless `path` is a regular file or, for Kind::directory, a directory.
    HeldFile(const std::string& path, Kind kind);
    ~HeldFile();
    HeldFile(const HeldFile&) = delete;
    HeldFile& operator=(const HeldFile&) = delete;

    int descriptor() const { return descriptor_; }
    // Whether the descriptor still refers to this file. A program that closes all descriptors closes this one, too, and
    // its number may then be another file's.
    bool is_ours() const;

    // The number of held files in this process.
    static int64_t count();

  private:
    int descriptor_ = -1;
    uint64_t device_ = 0, inode_ = 0;
};

}  // namespace crayon
