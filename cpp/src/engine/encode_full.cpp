// Engine::encode: ids with offsets, words and masks, as in tokenizers' Encoding.
#include <algorithm>
#include <limits>

#include "crayon/engine/engine.h"
#include "crayon/support/error.h"
#include "encode/cutter/seam_finder.h"
#include "engine/engine_impl.h"
#include "engine/text_walk.h"

namespace crayon {
namespace {

// Places have 32 bits. For a text that `continues`, encode_offsets puts one more character in front, and kNowhere is
// the largest number.
constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max() - 2;
constexpr size_t kPieces = 256;  // to tokenize at once

// Maps bytes to characters of the original text.
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
    // Returns the whole characters that bytes [start, end) belong to. A token that ends inside a character covers that
    // character.
    Offset range(size_t start, size_t end) const {
        if (ascii_) return {uint32_t(start), uint32_t(end)};
        if (start == end) return {before_[start], before_[start]};
        return {before_[start + 1] - 1, before_[end]};
    }

  private:
    std::vector<uint32_t>& before_;
    bool ascii_;
};

using Range = std::pair<size_t, size_t>;

// The range of original bytes with which bytes [start, end) of a text are aligned.
Range aligned_range(size_t base, const Alignment* alignments, size_t start, size_t end) {
    if (alignments == nullptr) return {base + start, base + end};
    return {base + alignments[start].start, base + alignments[end - 1].end};
}

// Makes the Encoding of one sequence.
class FullEncoder {
  public:
    FullEncoder(const Engine& engine, const Engine::Impl& impl, const EncodeOptions& options, Scratch& scratch)
        : engine_(engine), p_(impl), options_(options), s_(scratch) {}

    Encoding sequence(const Sequence& sequence, uint32_t type_id, bool continues = false) {
        out_ = Encoding();
        type_id_ = type_id;
        for (size_t i = 0; i < sequence.parts.size(); ++i) {
            if (sequence.is_pretokenized) word_ = int32_t(i);
            part(sequence.parts[i], sequence.is_pretokenized ? 0 : 1, continues);
        }
        out_.special.assign(out_.size(), 0);
        out_.attention.assign(out_.size(), 1);
        return std::move(out_);
    }
    // The number of words of the last sequence, if it was a text.
    int32_t words() const { return word_; }

  private:
    void part(Bytes text, int32_t step, bool continues) {
        if (text.size > kMostBytes)
            throw Error(ErrorKind::argument, "a text of more than 4 GiB has no offsets: encode it as ids alone");
        const CharacterMap characters(text, s_.characters);
        characters_ = &characters;
        step_ = step;
        if (step == 1) word_ = 0;
        const auto on_added = [&](uint32_t id, Bytes bytes, const Origin& place) {
            // The token's string is the matched text, including stripped white space, as in the reference.
            if (bytes.view() != engine_.id_to_token(id)) own_text(bytes.view());
            push(int32_t(id), aligned_range(place.base, place.alignments, 0, bytes.size));
            word_ += step_;
        };
        const auto on_text = [&](Bytes piece, const Origin& place) {
            if (p_.pipeline.scan != nullptr)
                scanned(piece, place);
            else if (p_.on_bytes())
                cut_on_bytes(cut_text(p_, piece, place, true, s_));
            else
                cut_on_text(cut_text(p_, piece, place, true, s_));
        };
        walk_text(p_, text, options_.special_as_text, true, s_, on_added, on_text, continues);
    }

    void scanned(Bytes piece, const Origin& place) {
        const Bytes part = prefixed(p_, piece, s_);
        // The reference aligns the space that it puts in front with the whole first character.
        const size_t added = part.size - piece.size;
        s_.ids.clear();
        encode_scanned(p_.tables(engine_.cartridge()), part, s_, &s_.ids, &pretokens_);
        byte_tokens([&](size_t start, size_t end) {
            if (added != 0) {
                start = start > 0 ? start - 1 : 0;
                end = end > 1 ? end - 1 : 1;
            }
            return aligned_range(place.base, place.alignments, start, end);
        });
    }

    void cut_on_bytes(const PieceList& list) {
        s_.ids.clear();
        encode_pieces(p_.tables(engine_.cartridge()), list.text.text, list.pieces, s_, &s_.ids, &pretokens_);
        byte_tokens([&](size_t start, size_t end) {
            return aligned_range(list.base, list.text.alignments.data(), start, end);
        });
    }

    void cut_on_text(const PieceList& list) {
        const Bytes text(list.text.text);
        size_t ends[kPieces];
        for (size_t done = 0, some; done < list.pieces.size(); done += some) {
            const Piece* const pieces = list.pieces.data() + done;
            some = std::min(kPieces, list.pieces.size() - done);
            s_.tokens.clear();
            p_.pipeline.model->tokenize_all(text, pieces, some, s_.model.get(), &s_.tokens, ends);
            const ModelToken* token = s_.tokens.data();
            for (size_t i = 0; i < some; ++i) {
                for (; token < s_.tokens.data() + ends[i]; ++token) add_token(list, pieces[i], *token);
                word_ += step_;
            }
        }
    }

    void add_token(const PieceList& list, const Piece& piece, const ModelToken& token) {
        if (token.own_text)
            own_text(Bytes(list.text.text).slice(piece.start + token.start, piece.start + token.end).view());
        else
            model_text(p_.unknown(token.id));
        push(int32_t(p_.unknown(token.id)), token_range(list, piece, token));
    }

    // Converts a token's offsets to the original text if they are inside the piece, and otherwise keeps them, as the
    // reference does.
    static Range token_range(const PieceList& list, const Piece& piece, const ModelToken& token) {
        const size_t start = piece.start + token.start, end = piece.start + token.end;
        const auto at = [&](size_t i) { return list.text.alignments[i]; };
        if (token.start < token.end && end <= piece.end)
            return {list.base + at(start).start, list.base + at(end - 1).end};
        const size_t shift = token.start == token.end ? list.base + at(piece.start).start : 0;
        return {shift + token.start, shift + token.end};
    }

    // Adds the tokens of s_.ids, which cover pretokens_.
    template <typename Original>
    void byte_tokens(Original&& original) {
        make_room(s_.ids.size());
        const int32_t* id = s_.ids.data();
        for (const PretokenIds& pretoken : pretokens_) {
            size_t at = pretoken.start;
            for (size_t i = 0; i < pretoken.n_ids; ++i, ++id) {
                const size_t next = at + engine_.cartridge().bytes_of(uint32_t(*id)).size;
                const uint32_t given = p_.unknown(uint32_t(*id));
                model_text(given);
                push(int32_t(given), original(at, next));
                at = next;
            }
            word_ += step_;
        }
    }

    // Makes room for a large piece at once. Many small pieces still grow the arrays in proportion.
    void make_room(size_t more) {
        const size_t size = out_.ids.size() + more;
        if (size <= out_.ids.capacity()) return;
        const size_t capacity = std::max(size, 2 * out_.ids.capacity());
        out_.ids.reserve(capacity);
        out_.type_ids.reserve(capacity);
        out_.offsets.reserve(capacity);
        out_.words.reserve(capacity);
    }
    void own_text(std::string_view text) { out_.texts.push_back({uint32_t(out_.ids.size()), std::string(text)}); }
    // Gives the last token the model's string of its id, even if an added token with this id has another.
    void model_text(uint32_t id) {
        if (p_.vocabulary->is_respelled(id)) own_text(p_.vocabulary->content_of(id));
    }

    void push(int32_t id, Range original) {
        out_.ids.push_back(id);
        out_.type_ids.push_back(type_id_);
        out_.offsets.push_back(options_.offsets ? characters_->range(original.first, original.second) : Offset{0, 0});
        out_.words.push_back(word_);
    }

    const Engine& engine_;
    const Engine::Impl& p_;
    const EncodeOptions& options_;
    Scratch& s_;
    Encoding out_;
    const CharacterMap* characters_ = nullptr;
    std::vector<PretokenIds> pretokens_;
    uint32_t type_id_ = 0;
    int32_t word_ = 0, step_ = 1;
};

}  // namespace

size_t Engine::first_part(const Sequence& first, const Sequence* pair, const EncodeOptions& options) const {
    const std::optional<Truncation>& truncation = options.truncation;
    if (options.overflow || !truncation || truncation->side != Side::right || pair != nullptr) return 0;
    // A text over kMostBytes is an error, which encoding only a part of it would not report.
    if (first.is_pretokenized || first.parts[0].size > kMostBytes) return 0;
    return impl_->first_part(first.parts[0], tokens_left(false, options));
}

Encoding Engine::encode(const Sequence& first, const Sequence* pair, const EncodeOptions& options, Scratch& s) const {
    if (const size_t size = first_part(first, pair, options)) {
        std::vector<EncodingPart> parts;
        const auto encode = [&](size_t from, size_t to) {
            parts.push_back(encode_part(first.parts[0].slice(from, to), options, from > 0, s));
            return parts.back().encoding.size();
        };
        const bool is_cut = encode_head(impl_->encoding_seams(options.special_as_text), first.parts[0], size,
                                        tokens_left(false, options), encode);
        Encoding out = post_process(crayon::join(parts.data(), parts.size()), nullptr, options);
        out.is_cut = is_cut;
        return out;
    }
    FullEncoder encoder(*this, *impl_, options, s);
    Encoding a = encoder.sequence(first, 0);
    if (pair == nullptr) return post_process(std::move(a), nullptr, options);
    Encoding b = encoder.sequence(*pair, 1);
    return post_process(std::move(a), &b, options);
}

EncodingPart Engine::encode_part(Bytes text, const EncodeOptions& options, bool continues, Scratch& s) const {
    FullEncoder encoder(*this, *impl_, options, s);
    EncodingPart part;
    part.encoding = encoder.sequence({{text}, false}, 0, continues);
    part.words = encoder.words();
    if (options.offsets)  // otherwise all offsets are (0, 0)
        part.characters =
            uint32_t(std::count_if(text.begin(), text.end(), [](uint8_t byte) { return (byte & 0xC0) != 0x80; }));
    return part;
}

void Engine::encode_offsets(Bytes text, const EncodeOptions& options, TextEnds ends, Scratch& s, bool* has_tokens,
                            IdBuffer* out, std::vector<Offset>* offsets) const {
    Encoding part = FullEncoder(*this, *impl_, options, s).sequence({{text}, false}, 0, !ends.start);
    // Post-processors ask whether a token is the first one, or begins where the text does. One character, and one token
    // if the text before had tokens, represent that text.
    const uint32_t shift = ends.start ? 0 : 1;
    for (Offset& offset : part.offsets) offset = {offset.start + shift, offset.end + shift};
    const bool has_more = !part.ids.empty(), stands_in = *has_tokens;
    if (stands_in) {
        Encoding whole;
        whole.ids.assign(1, -1);
        whole.type_ids.assign(1, 0);
        whole.offsets.assign(1, {0, 1});
        whole.words.assign(1, 0);
        whole.special.assign(1, 0);
        whole.attention.assign(1, 1);
        append(&whole, std::move(part));
        part = std::move(whole);
    }
    *has_tokens |= has_more;
    part = post_process(std::move(part), nullptr, options);
    size_t first = stands_in ? 1 : 0, last = part.size();
    if (const Surround* const around = surround(false, options.add_special_tokens)) {
        if (!ends.start) first += around->before.size();
        if (!ends.end) last -= around->after.size();
    }
    out->append(part.ids.data() + first, last - first);
    offsets->reserve(offsets->size() + last - first);
    for (size_t i = first; i < last; ++i) {
        const Offset at = part.offsets[i];
        offsets->push_back(part.special[i] ? Offset{kNowhere, kNowhere} : Offset{at.start - shift, at.end - shift});
    }
}

Encoding Engine::post_process(Encoding&& first, Encoding* pair, const EncodeOptions& options) const {
    const Impl& p = *impl_;
    if (options.truncation) {
        truncate(&first, pair, *options.truncation, tokens_left(pair != nullptr, options));
    }
    Encoding out =
        crayon::post_process(p.pipeline.post_processor, p.trim, std::move(first), pair, options.add_special_tokens);
    if (options.padding) {
        std::vector<Encoding> one;
        one.push_back(std::move(out));
        pad(&one, *options.padding);
        out = std::move(one[0]);
    }
    return out;
}

}  // namespace crayon
