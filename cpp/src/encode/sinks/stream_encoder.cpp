#include "crayon/encode/sinks/stream_encoder.h"

#include <algorithm>
#include <string>
#include <vector>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "engine/engine_impl.h"

namespace crayon {
namespace {

constexpr size_t kKeptBlocks = 8, kLargestBlock = size_t(64) << 20;

// Whether `rest` is the beginning of a character that lacks its last bytes. `rest` must not begin with a whole
// character.
bool is_cut(Bytes rest) {
    uint8_t bytes[4] = {};
    if (rest.size >= sizeof bytes || rest.empty()) return false;
    std::copy(rest.begin(), rest.end(), bytes);
    // Tries the least and the greatest continuation bytes, because the valid range of the second byte varies.
    for (const uint8_t next : {uint8_t(0x80), uint8_t(0x90), uint8_t(0xBF)}) {
        for (size_t size = rest.size + 1; size <= sizeof bytes; ++size) {
            std::fill(bytes + rest.size, bytes + size, next);
            const Decoded c = decode_utf8(bytes, bytes + size);
            if (c.valid && c.size == size) return true;
        }
    }
    return false;
}

// Maps characters of a text to bytes.
class CharacterStarts {
  public:
    explicit CharacterStarts(Bytes text) {
        if (std::all_of(text.begin(), text.end(), [](uint8_t byte) { return byte < 0x80; })) return;
        starts_.reserve(text.size / 2);
        for (size_t i = 0; i < text.size; ++i)
            if ((text[i] & 0xC0) != 0x80) starts_.push_back(uint32_t(i));
        starts_.push_back(uint32_t(text.size));
    }
    size_t operator[](uint32_t character) const {
        return starts_.empty() ? character : starts_[std::min(size_t(character), starts_.size() - 1)];
    }

  private:
    std::vector<uint32_t> starts_;  // empty: every character is one byte
};

}  // namespace

StreamEncoder::StreamEncoder(std::shared_ptr<const Engine> engine, const StreamOptions& options)
    : engine_(std::move(engine)),
      options_(options),
      seams_(std::make_unique<const Seams>(engine_->impl().pipeline, *engine_->impl().vocabulary,
                                           options.special_as_text, options.offsets)),
      pool_(kKeptBlocks, kLargestBlock) {}

StreamEncoder::~StreamEncoder() = default;

bool StreamEncoder::streams() const {
    return seams_->exist();
}

// The size of the window without a character cut by its end.
size_t StreamEncoder::whole_characters(Bytes window, bool is_last) const {
    const size_t valid = utf8_error(window.data, window.size);
    if (valid != window.size && (is_last || !is_cut(window.slice(valid, window.size))))
        throw Error(ErrorKind::utf8,
                    "the text is not UTF-8: invalid byte at offset " + std::to_string(position_ + valid));
    return valid;
}

StreamChunk StreamEncoder::encode(Bytes window, bool is_last) {
    if (is_done_) throw Error(ErrorKind::argument, "the stream has ended: encode nothing after its last window");
    StreamChunk chunk;
    const size_t size = whole_characters(window, is_last);
    const Bytes text = window.slice(0, is_last ? size : seams_->last(window.slice(0, size), is_begun_));
    if (text.empty() && !is_last) return chunk;

    chunk.ids = pool_.lease();
    const size_t room = chunk.ids.capacity() / sizeof(int32_t);
    IdBuffer ids(static_cast<int32_t*>(chunk.ids.release()), room);
    std::vector<Offset> offsets;
    {
        const Engine::Lease scratch(*engine_);
        EncodeOptions options;
        options.add_special_tokens = options_.add_special_tokens;
        options.special_as_text = options_.special_as_text;
        const TextEnds ends{!is_begun_, is_last};
        if (options_.offsets)
            engine_->encode_offsets(text, options, ends, *scratch, &has_tokens_, &ids, &offsets);
        else
            engine_->encode_ids(text, options, *scratch, &ids, ends);
    }
    chunk.n_ids = ids.size();
    const size_t capacity = ids.capacity() * sizeof(int32_t);
    chunk.ids.adopt(ids.release(), capacity);

    if (options_.offsets) {
        chunk.offsets = pool_.lease();
        chunk.offsets.reserve(2 * sizeof(int64_t) * offsets.size());
        int64_t* out = static_cast<int64_t*>(chunk.offsets.data());
        const CharacterStarts starts(text);
        for (size_t i = 0; i < offsets.size(); ++i) {
            const auto byte_of = [&](uint32_t at) { return at == kNowhere ? 0 : int64_t(position_ + starts[at]); };
            *out++ = byte_of(offsets[i].start);
            *out++ = byte_of(offsets[i].end);
        }
    }
    chunk.consumed = text.size;
    position_ += text.size;
    is_begun_ = true;
    is_done_ = is_last;
    return chunk;
}

}  // namespace crayon
