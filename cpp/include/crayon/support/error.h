// The errors that the engine library raises. The bindings map each kind to one Python class.
#pragma once

#include <stdexcept>
#include <string>

namespace crayon {

enum class ErrorKind {
    cartridge,    // a .dat that is damaged, of a wrong version, or out of its own bounds
    vocabulary,   // a tokenizer.json or rank file that is malformed or contradicts itself
    unsupported,  // a well-formed tokenizer.json with a component that is not compiled
    utf8,         // text that had to be UTF-8 and is not
    token_id,     // an id that the vocabulary does not have
    argument,     // a call that cannot be meant
};

class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
    ErrorKind kind() const noexcept { return kind_; }

  private:
    ErrorKind kind_;
};

}  // namespace crayon
