// Shared by the targets: reading the input piece by piece, small vocabularies, an engine for each instruction set, and
// checks that must hold for any text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/cpu.h"

namespace crayon::fuzz {

// Reports a fault of the engine by ending the process, unless `holds` is true.
void require(bool holds, const std::string& what, const std::string& detail = "");
// While an OnlySafe exists, `require` does nothing: results may be wrong, but memory errors are still found.
class OnlySafe {
  public:
    OnlySafe();
    ~OnlySafe();
    OnlySafe(const OnlySafe&) = delete;
    OnlySafe& operator=(const OnlySafe&) = delete;
};

// Takes bytes from the front of a fuzzer's input. After its end it gives zeros.
class Input {
  public:
    Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
    uint8_t byte() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }
    uint32_t word() {
        uint32_t out = 0;
        for (int i = 0; i < 4; ++i) out |= uint32_t(byte()) << (8 * i);
        return out;
    }
    size_t below(size_t n) { return n == 0 ? 0 : byte() % n; }
    bool flag() { return byte() & 1; }
    size_t size() const { return size_; }
    Bytes take(size_t n) {
        if (n > size_) n = size_;
        const Bytes out(data_, n);
        data_ += n;
        size_ -= n;
        return out;
    }
    Bytes rest() { return take(size_); }

  private:
    const uint8_t* data_;
    size_t size_;
};

struct Vocabulary {
    const char* name;
    const char* json;
};
const std::vector<Vocabulary>& vocabularies();

// The instruction sets that this machine can run, slowest first.
std::vector<std::string> levels();
// While an AtLevel exists, new engines and calls that select an instruction set use its level.
class AtLevel {
  public:
    explicit AtLevel(const std::string& level);
    ~AtLevel();
    AtLevel(const AtLevel&) = delete;
    AtLevel& operator=(const AtLevel&) = delete;
};

using EnginePtr = std::shared_ptr<const Engine>;
using Engines = std::vector<EnginePtr>;

// Opens an engine for each level, from a cartridge's bytes. Throws the errors of Engine::from_bytes.
Engines open_everywhere(Bytes cartridge, bool is_greedy, Checks checks = Checks::whole);
// Returns the engines of one of the small vocabularies. They are opened once.
const Engines& engines_of(size_t vocabulary, bool is_greedy);

// Converts any bytes to text: invalid UTF-8 becomes U+FFFD.
std::string text_of(Bytes data);

// The ids that a call returns, or the message of its Error. Any other exception is a fault of the engine.
struct Outcome {
    std::string error;
    std::vector<int64_t> ids;
    bool operator==(const Outcome& other) const { return error == other.error && ids == other.ids; }
};
Outcome outcome_of(const std::function<void(IdBuffer*)>& work);
std::string shown(const Outcome& outcome);

// How a text is encoded.
struct Ways {
    bool add_special_tokens = false, special_as_text = false;
    bool everything = true;  // all paths, not only the levels
    uint8_t window = 0;      // how streams are cut
};
// Checks that every engine and every path give the same ids for this text.
void check_text(const Engines& engines, const std::string& text, const Ways& ways);
// Checks that invalid UTF-8 decodes back to its bytes.
void check_raw(const Engines& engines, Bytes data);
// Checks that all engines decode ids to the same text, or all refuse them.
void check_decoding(const Engines& engines, const std::vector<int64_t>& ids, bool skip_special, bool skip_unknown);
// Makes all checks above. Takes options from the input, and its remaining bytes as the text.
void check_all(const Engines& engines, Input* input);

}  // namespace crayon::fuzz
