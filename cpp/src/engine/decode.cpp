// Engine's ways of decoding.
#include <algorithm>

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

}  // namespace

// Calls on_token(bytes, how many can be read from the first one on) for each token that is not left out.
template <typename OnToken>
void Engine::for_each_token(const IdView& ids, bool skip_special_tokens, bool skip_unknown, OnToken&& on_token) const {
    const Vocabulary& vocabulary = *impl_->vocabulary;
    const uint64_t n_ids = vocabulary.n_ids();
    const uint32_t* const offsets = cartridge_.token_offsets.data;
    const Bytes all(cartridge_.token_bytes);
    ids.for_each([&](int64_t id) {
        // An added token may be the engine's own, spelled in another way, or skipped.
        if (uint64_t(id) < n_ids && (vocabulary.flags(uint32_t(id)) & (kPresent | kAdded | kSpecial)) == kPresent) {
            const size_t start = offsets[id];
            return on_token(all.slice(start, offsets[id + 1]), all.size - start);
        }
        if (!vocabulary.has(id)) {
            if (skip_unknown) return;
            throw unknown_id(id, *this);
        }
        if (skip_special_tokens && vocabulary.is_skipped(uint32_t(id))) return;
        const Bytes bytes = vocabulary.bytes_of(uint32_t(id));
        on_token(bytes, bytes.size);
    });
}

bool Engine::join_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const {
    TextBlock block(out);
    for_each_token(ids, skip_special_tokens, skip_unknown,
                   [&](Bytes bytes, size_t readable) { block.put(bytes, readable); });
    block.flush();
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
    // Tokens that are text are spelled by their bytes.
    const auto joiner =
        cartridge_.has_text_tokens() && p.pipeline.decoder != nullptr ? p.pipeline.decoder->joiner() : nullptr;
    if (joiner == nullptr) {
        out->is_ascii = false;
        return decode_strings(ids, skip_special_tokens, skip_unknown, &out->bytes);
    }
    TextBlock block(&out->bytes);
    for_each_token(ids, skip_special_tokens, skip_unknown,
                   [&](Bytes token, size_t readable) { joiner->add(token, readable, &block); });
    joiner->finish(&block);
    block.flush();
    out->bytes.erase(0, joiner->cut(out->bytes));
    out->is_ascii = block.is_ascii();
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
