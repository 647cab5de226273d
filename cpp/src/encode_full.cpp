// Engine::encode: ids with offsets, words and masks, as tokenizers' Encoding has them.
#include <algorithm>
#include <limits>

#include "crayon/engine.h"
#include "crayon/error.h"
#include "engine_parts.h"
#include "text_walk.h"

namespace crayon {
namespace {

// Bytes to characters of the original text.
class CharacterMap {
  public:
    CharacterMap(Bytes text, std::vector<uint32_t>& before) : before_(before) {
        ascii_ = std::all_of(text.begin(), text.end(), [](uint8_t b) { return b < 0x80; });
        if (ascii_) return;
        before_.resize(text.size + 1);
        uint32_t count = 0;
        for (size_t i = 0; i < text.size; ++i) {
            before_[i] = count;
            count += (text[i] & 0xC0) != 0x80;
        }
        before_[text.size] = count;
    }
    // The characters that bytes [start, end) belong to, whole: a token that ends inside a character covers it.
    Offset range(size_t start, size_t end) const {
        if (ascii_) return {uint32_t(start), uint32_t(end)};
        return {before_[start + 1] - 1, before_[end]};
    }

  private:
    std::vector<uint32_t>& before_;
    bool ascii_;
};

// The original bytes of bytes [start, end) of a piece.
std::pair<size_t, size_t> original(const Place& place, size_t start, size_t end) {
    if (place.prefixed) {
        // The reference aligns the space that it puts in front with the first character, whole.
        start = start > 0 ? start - 1 : 0;
        end = end > 1 ? end - 1 : 1;
    }
    if (place.alignments != nullptr)
        return {place.base + place.alignments[start].start, place.base + place.alignments[end - 1].end};
    return {place.base + start, place.base + end};
}

void push(Encoding* out, int32_t id, uint32_t type_id, Offset offset, int32_t word) {
    out->ids.push_back(id);
    out->type_ids.push_back(type_id);
    out->offsets.push_back(offset);
    out->words.push_back(word);
}

}  // namespace

Encoding Engine::encode(const Sequence& first, const Sequence* pair, const EncodeOptions& options, Scratch& s) const {
    const Parts& p = *parts_;
    const SegmentTables tables{cartridge_, p.merges, p.scan};
    std::vector<PretokenSpan> spans;

    const auto offset_of = [&](const CharacterMap& characters, const Place& place, size_t start, size_t end) {
        if (!options.offsets) return Offset{0, 0};
        const auto [from, to] = original(place, start, end);
        return characters.range(from, to);
    };
    const auto encode_part = [&](Bytes text, uint32_t type_id, int32_t fixed_word, Encoding* out) {
        if (text.size > std::numeric_limits<uint32_t>::max())
            throw Error(ErrorKind::argument, "a text of more than 4 GiB has no offsets: encode it as ids alone");
        const CharacterMap characters(text, s.characters);
        int32_t word = fixed_word == kNoWord ? 0 : fixed_word;
        const int32_t step = fixed_word == kNoWord ? 1 : 0;
        walk_text(
            p, cartridge_, text, options.special_as_text, true, s,
            [&](uint32_t id, const Place& place) {
                // The reference shows the text that matched, white space that was stripped included.
                if (place.bytes.view() != id_to_token(id))
                    out->texts.push_back({uint32_t(out->ids.size()), std::string(place.bytes.view())});
                push(out, int32_t(id), type_id, offset_of(characters, place, 0, place.bytes.size), word);
                word += step;
            },
            [&](Bytes piece, const Place& place) {
                s.ids.clear();
                encode_segment(tables, piece, s, &s.ids, &spans);
                const int32_t* id = s.ids.data();
                size_t at = 0;
                for (const PretokenSpan& span : spans) {
                    for (size_t i = 0; i < span.n_ids; ++i, ++id) {
                        const size_t next = at + id_to_bytes(uint32_t(*id)).size;
                        push(out, *id, type_id, offset_of(characters, place, at, next), word);
                        at = next;
                    }
                    word += step;
                }
            });
    };
    const auto encode_sequence = [&](const Sequence& sequence, uint32_t type_id) {
        Encoding out;
        for (size_t i = 0; i < sequence.parts.size(); ++i)
            encode_part(sequence.parts[i], type_id, sequence.is_pretokenized ? int32_t(i) : kNoWord, &out);
        out.special.assign(out.size(), 0);
        out.attention.assign(out.size(), 1);
        return out;
    };
    Encoding a = encode_sequence(first, 0);
    if (pair == nullptr)
        return post_process(p.post_processor, p.trim, std::move(a), nullptr, options.add_special_tokens);
    Encoding b = encode_sequence(*pair, 1);
    return post_process(p.post_processor, p.trim, std::move(a), &b, options.add_special_tokens);
}

}  // namespace crayon
