// The decoding methods of Engine.
#include <algorithm>
#include <cstring>

#include "crayon/engine/engine.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "decoders/fast_decode.h"
#include "decoders/text_block.h"
#include "engine/engine_impl.h"

namespace crayon {
namespace {

Error unknown_id(int64_t id, const Engine& engine) {
    return Error(ErrorKind::token_id, "id " + std::to_string(id) + " is not in the vocabulary of " +
                                          std::to_string(engine.vocabulary_size(true)) + " tokens");
}

// Writes short texts. Returns the first id whose text is not in the table itself.
template <typename Id>
const Id* put_short(const DecodeTable& table, const Id* id, const Id* end, TextBlock* out) {
    char* to = out->place();
    const char* const last = out->last_place();
    for (; id < end && table.is_short(*id); ++id) {
        if (to > last) {
            out->written(to);
            out->flush();
            to = out->place();
        }
        const DecodeTable::Entry& entry = table[size_t(*id)];
        std::memcpy(to, &entry, TextBlock::kCopied);
        to += entry.size;
    }
    out->written(to);
    return id;
}

}  // namespace

// Joins the texts of ids. `joiner` is null if each token's text is its bytes.
void Engine::join(const IdView& ids, bool skip_special_tokens, bool skip_unknown, TokenJoiner* joiner,
                  TextBlock* out) const {
    const Vocabulary& vocabulary = *impl_->vocabulary;
    const uint64_t n_ids = vocabulary.n_ids();
    const uint32_t* const offsets = cartridge_.token_offsets.data;
    const Bytes all(cartridge_.token_bytes);
    const Decoder* const decoder = joiner != nullptr ? impl_->pipeline.decoder.get() : nullptr;
    const DecodeTable* const table = impl_->decode_table.get(
        ids.size, n_ids, [&] { return std::make_unique<DecodeTable>(cartridge_, vocabulary, decoder); });
    bool has_begun = joiner == nullptr;  // whether a token was added: the first one's text may differ from the table's
    bool in_run = false;                 // whether the last token named a byte
    const auto end_run = [&] {
        if (in_run) joiner->finish(out);
        in_run = false;
    };
    const auto add = [&](Bytes token, size_t readable) {
        if (joiner == nullptr) return out->put(token, readable);
        joiner->add(token, readable, out);
        has_begun = in_run = true;  // in_run: perhaps, because the token may name no byte
    };
    const auto add_any = [&](int64_t id) {
        if (uint64_t(id) < n_ids && vocabulary.is_ordinary(uint32_t(id))) {
            const size_t start = offsets[id];
            return add(all.slice(start, offsets[id + 1]), all.size - start);
        }
        // An added token may be one of the engine's own, or be spelled in another way, or be skipped.
        if (!vocabulary.has(id)) {
            if (skip_unknown) return;
            throw unknown_id(id, *this);
        }
        if (skip_special_tokens && vocabulary.is_skipped(uint32_t(id))) return;
        const Bytes bytes = vocabulary.bytes_of(uint32_t(id));
        add(bytes, bytes.size);
    };
    if (table == nullptr) {
        ids.for_each(add_any);
    } else {
        ids.with_array([&](const auto* id, const auto* const end) {
            for (; id < end && !has_begun; ++id) add_any(int64_t(*id));
            while (id < end) {
                if (table->is_short(*id)) {
                    end_run();
                    id = put_short(*table, id, end, out);
                    continue;
                }
                const DecodeTable::Entry* const entry = uint64_t(*id) < n_ids ? &(*table)[size_t(*id)] : nullptr;
                if (entry != nullptr && entry->size == DecodeTable::kByte) {
                    joiner->add_byte(entry->bytes[0]);
                    in_run = true;
                } else if (entry != nullptr && entry->size == DecodeTable::kLong) {
                    end_run();
                    out->put(table->long_text(*entry));
                } else {
                    add_any(int64_t(*id));
                }
                ++id;
            }
        });
    }
    if (joiner != nullptr) joiner->finish(out);
    out->flush();
}

bool Engine::join_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const {
    TextBlock block(out);
    join(ids, skip_special_tokens, skip_unknown, nullptr, &block);
    return block.is_ascii();
}

void Engine::decode_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const {
    if (!impl_->pipeline.joins_bytes)
        throw Error(ErrorKind::unsupported, "this vocabulary decodes to text: its tokens are not runs of bytes");
    join_bytes(ids, skip_special_tokens, skip_unknown, out);
}

void Engine::decode(const IdView& ids, bool skip_special_tokens, bool skip_unknown, DecodedText* out) const {
    const Impl& p = *impl_;
    out->bytes.clear();
    if (p.pipeline.joins_bytes) {
        out->is_ascii = join_bytes(ids, skip_special_tokens, skip_unknown, &out->bytes);
        out->is_text = out->is_ascii;
        return;
    }
    out->is_text = true;
    // If the model works on text, a token's bytes are its text.
    const auto joiner =
        cartridge_.has_text_tokens() && p.pipeline.decoder != nullptr ? p.pipeline.decoder->joiner() : nullptr;
    if (joiner == nullptr) {
        out->is_ascii = false;
        return decode_strings(ids, skip_special_tokens, skip_unknown, &out->bytes);
    }
    TextBlock block(&out->bytes);
    join(ids, skip_special_tokens, skip_unknown, joiner.get(), &block);
    out->is_ascii = !joiner->change(&out->bytes) && block.is_ascii();
}

void Engine::decode_strings(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const {
    const Impl& p = *impl_;
    std::vector<std::string> tokens;
    tokens.reserve(ids.size);
    ids.for_each([&](int64_t id) {
        if (!p.vocabulary->has(id)) {
            if (skip_unknown) return;
            throw unknown_id(id, *this);
        }
        if (!skip_special_tokens || !p.vocabulary->is_skipped(uint32_t(id)))
            tokens.push_back(p.vocabulary->text_of(uint32_t(id)));
    });
    if (p.pipeline.decoder != nullptr) {
        p.pipeline.decoder->decode(&tokens);
        for (const std::string& token : tokens) out->append(token);
        return;
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0) out->push_back(' ');
        out->append(tokens[i]);
    }
}

std::string DecodedText::text() const {
    return is_text ? bytes : utf8_lossy(Bytes(bytes).data, bytes.size());
}

}  // namespace crayon
