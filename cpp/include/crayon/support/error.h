// The errors of the engine library. The bindings map each kind to one Python class.
#pragma once

#include <stdexcept>
#include <string>

namespace crayon {

enum class ErrorKind {
    cartridge,    // A cartridge file that is damaged, of another version, or refers outside itself.
    vocabulary,   // A malformed or contradictory tokenizer.json or rank file.
    unsupported,  // A well-formed tokenizer.json with a component that this library does not implement.
    utf8,         // Text that is not UTF-8.
    token_id,     // An id outside the vocabulary.
    argument,     // An invalid argument.
};

class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
    ErrorKind kind() const noexcept { return kind_; }

  private:
    ErrorKind kind_;
};

}  // namespace crayon
