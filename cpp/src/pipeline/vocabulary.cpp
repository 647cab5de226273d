#include "pipeline/vocabulary.h"

#include <algorithm>

#include "crayon/json/json.h"
#include "crayon/support/error.h"
#include "encode/memo/word_table.h"
#include "models/model_common.h"

namespace crayon {
namespace {

DoubleArray trie_of(std::vector<std::pair<std::string, int32_t>> contents) {
    if (contents.empty()) return {};
    // Of equal contents, the first token's is used.
    std::stable_sort(contents.begin(), contents.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    contents.erase(
        std::unique(contents.begin(), contents.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
        contents.end());
    std::vector<std::pair<std::string_view, int32_t>> keys(contents.begin(), contents.end());
    return build_double_array(keys);
}

}  // namespace

std::string normalized_text(const std::string& text, const Normalizer* normalizer) {
    if (normalizer == nullptr || normalizer->leaves(text)) return text;
    AlignedText aligned;
    aligned.assign(text, false);
    normalizer->normalize(&aligned);
    return std::move(aligned.text);
}

// Hugging Face tokenizers (the reference) normalizes contents when it opens a tokenizer, and panics on contents on
// which it would panic in texts.
static std::string normalized_content(const std::string& content, const Normalizer* normalizer) {
    try {
        return normalized_text(content, normalizer);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::argument) throw;
        throw Error(ErrorKind::unsupported, "the added token " + json::quote(content) + ": " + error.what());
    }
}

AddedTries build_added_tries(const std::vector<AddedTokenSpec>& added, const Normalizer* normalizer) {
    std::vector<std::pair<std::string, int32_t>> plain, normalized;
    // The reference lists special tokens before the others.
    for (const bool special : {true, false}) {
        for (size_t i = 0; i < added.size(); ++i) {
            if (bool(added[i].flags & kSpecialToken) != special) continue;
            if (!(added[i].flags & kNormalized)) {
                plain.emplace_back(added[i].content, int32_t(i));
                continue;
            }
            std::string content = normalized_content(added[i].content, normalizer);
            if (content.empty())
                throw Error(ErrorKind::unsupported, "the added token " + json::quote(added[i].content) +
                                                        ", which the normalizer reduces to nothing");
            normalized.emplace_back(std::move(content), int32_t(i));
        }
    }
    return {trie_of(std::move(plain)), trie_of(std::move(normalized))};
}

Vocabulary::Vocabulary(const Cartridge& cartridge, const Normalizer* normalizer)
    : cartridge_(cartridge),
      n_ids_(cartridge.program().n_ids),
      size_(cartridge.program().vocab_size),
      flags_(cartridge.token_flags.data),
      added_(cartridge.added_tokens),
      matcher_(cartridge.added_trie, added_),
      normalized_matcher_(cartridge.added_trie_normalized, added_) {
    // The tokens' bytes are read below, even if the file is unverified.
    for (const AddedToken& token : added_)
        if (token.id >= n_ids_)
            throw Error(ErrorKind::cartridge, "section added_tokens names an id that does not exist");
    spell_normalized(normalizer);
    note_special_starts();
}

Vocabulary::Vocabulary(const Cartridge& cartridge, const std::vector<AddedTokenSpec>& added,
                       const Normalizer* normalizer)
    : cartridge_(cartridge), own_flags_(cartridge.program().n_ids) {
    const uint32_t compiled = cartridge.program().n_ids;
    size_ = 0;
    for (uint32_t id = 0; id < compiled; ++id) {
        const uint8_t flags = cartridge.token_flags[id];
        if (flags & kModel) own_flags_[id] = uint8_t(flags & ~(kAdded | kSpecial));
        size_ += (flags & kModel) != 0;
    }
    std::string bytes;
    own_ids_.reserve(added.size());
    own_bytes_.reserve(added.size());
    for (const AddedTokenSpec& token : added) {
        const auto quoted = [&] { return json::quote(token.content); };
        if (token.content.empty()) throw Error(ErrorKind::unsupported, "an added token without content");
        if (token.id >= kMaxIds)
            throw Error(ErrorKind::unsupported, "the id of the added token " + quoted() + " is too large" +
                                                    ": ids end at " + std::to_string(kMaxIds - 1));
        if (token.id >= own_flags_.size()) own_flags_.resize(size_t(token.id) + 1);
        uint8_t& flags = own_flags_[token.id];
        if ((flags & kAdded) || !own_ids_.emplace(token.content, token.id).second)
            throw Error(ErrorKind::vocabulary, "the added token " + quoted() + " twice, or on a used id");
        if (!(flags & kModel)) {
            const bool raw = cartridge.has_text_tokens() || !from_byte_level(token.content, &bytes);
            own_bytes_.emplace(token.id, raw ? token.content : bytes);
            flags = uint8_t(kPresent | (raw && !cartridge.has_text_tokens() ? kRaw : 0));
            ++size_;
        } else if (content_of(token.id) != token.content) {
            throw Error(ErrorKind::vocabulary, "the added token " + quoted() + " on the id of another token");
        }
        flags |= uint8_t(kAdded | (token.flags & kSpecialToken ? kSpecial : 0));
        own_added_.push_back({token.id, token.flags});
    }
    while (!own_flags_.empty() && !(own_flags_.back() & kPresent)) own_flags_.pop_back();
    n_ids_ = uint32_t(own_flags_.size());
    flags_ = own_flags_.data();
    added_ = {own_added_.data(), own_added_.size()};
    AddedTries tries = build_added_tries(added, normalizer);
    trie_ = std::move(tries.plain);
    normalized_trie_ = std::move(tries.normalized);
    matcher_ = AddedMatcher(view_of(trie_), added_);
    normalized_matcher_ = AddedMatcher(view_of(normalized_trie_), added_);
    spell_normalized(normalizer);
    note_special_starts();
}

void Vocabulary::spell_normalized(const Normalizer* normalizer) {
    if (normalizer == nullptr) return;
    for (const AddedToken& token : added_) {
        if (!(token.flags & (kNormalized | kRespelled))) continue;
        const std::string content = content_of(token.id);
        std::string text = normalized_text(content, normalizer), bytes;
        if (text == content) continue;
        if (cartridge_.has_text_tokens() || !from_byte_level(text, &bytes)) bytes = text;
        respelled_.emplace(token.id, Spelling{std::move(text), std::move(bytes)});
    }
}

void Vocabulary::note_special_starts() {
    if (cartridge_.scores.empty()) return;
    for (const AddedToken& token : added_)
        if (token.flags & kSpecialToken) special_starts_[content_bytes(token.id)[0]] = true;
}

Bytes Vocabulary::content_bytes(uint32_t id) const {
    if (!own_bytes_.empty()) {
        const auto found = own_bytes_.find(id);
        if (found != own_bytes_.end()) return found->second;
    }
    return cartridge_.bytes_of(id);
}

std::string Vocabulary::content_of(uint32_t id) const {
    const Bytes bytes = content_bytes(id);
    const bool is_own = own_bytes_.count(id) != 0;
    const bool is_spelled =
        !cartridge_.has_text_tokens() && !((is_own ? flags_ : cartridge_.token_flags.data)[id] & kRaw);
    return is_spelled ? to_byte_level(bytes) : std::string(bytes.view());
}

bool Vocabulary::is_content(uint32_t id, std::string_view token) const {
    const auto stands_for_itself = [](char c) { return c >= '!' && c <= '~'; };  // in byte-level spelling, too
    const bool is_plain = std::all_of(token.begin(), token.end(), stands_for_itself);
    return is_plain ? content_bytes(id).view() == token : content_of(id) == token;
}

std::string Vocabulary::text_of(uint32_t id) const {
    const auto found = respelled_.empty() ? respelled_.end() : respelled_.find(id);
    return found != respelled_.end() ? found->second.text : content_of(id);
}

Bytes Vocabulary::bytes_of(uint32_t id) const {
    const auto found = respelled_.empty() ? respelled_.end() : respelled_.find(id);
    return found != respelled_.end() ? Bytes(found->second.bytes) : content_bytes(id);
}

bool Vocabulary::is_skipped(uint32_t id) const {
    if (!is_respelled(id)) {
        const Bytes bytes = cartridge_.scores.empty() ? Bytes() : content_bytes(id);
        if (bytes.empty() || !special_starts_[bytes[0]]) return flags_[id] & kSpecial;
    }
    const int64_t named = find(text_of(id));
    return named >= 0 && (flags_[size_t(named)] & kSpecial);
}

WhiteEnds Vocabulary::white_ends_of(uint32_t id) const {
    if (id >= n_ids_) return {0, 0};
    if (own_bytes_.count(id) || is_respelled(id)) return white_ends(text_of(id));
    const uint32_t n = cartridge_.program().n_ids;
    return {cartridge_.token_trim[id], cartridge_.token_trim[size_t(n) + id]};
}

// Searches short tokens in the word table, which takes one cache line. A walk of the trie takes one per byte.
int64_t Vocabulary::find_bytes(const std::string& token) const {
    const auto& table = cartridge_.word_table;
    if (token.size() <= kWordKeyBytes && table.size != 0) {
        const Bytes bytes(token);
        const WordKey key = word_key(bytes.begin(), bytes.size, bytes.end());
        const WordEntry* const word = find_word(table.data, table.size / 2 - 1, word_hash(key.lo, key.hi), key);
        if (word != nullptr && word_ids(*word) == 1) {
            const uint32_t id = word->ids[0];
            if (!(cartridge_.token_flags[id] & kRaw) && cartridge_.bytes_of(id).view() == token) return id;
        }
    }
    return cartridge_.trie.find(token);
}

int64_t Vocabulary::find(std::string_view token) const {
    if (!own_ids_.empty()) {
        const auto found = own_ids_.find(std::string(token));
        if (found != own_ids_.end()) return found->second;
    }
    // The tries of the cartridge's added tokens have contents as they appear in text. If another token has such a
    // content, or a normalizer changes some contents, the end of this function compares all added tokens.
    bool may_hide = !respelled_.empty();
    for (const DoubleArrayView* trie : {&cartridge_.added_trie, &cartridge_.added_trie_normalized}) {
        const int32_t at = own_ids_.empty() ? trie->find(token) : -1;
        if (at < 0) continue;
        if (size_t(at) < added_.size && is_content(added_[size_t(at)].id, token)) return added_[size_t(at)].id;
        may_hide = true;
    }
    const bool on_text = cartridge_.has_text_tokens();
    if (on_text) {
        const uint32_t id = find_model_token(cartridge_, token);
        if (id != kNoId) return id;
    }
    std::string bytes;
    const bool spelled = !on_text && !token.empty() && from_byte_level(token, &bytes);
    if (spelled) {
        const int64_t id = find_bytes(bytes);
        if (id >= 0) return id;
        if (!may_hide) return -1;
    }
    // Strings that the trie lacks: raw tokens and added tokens.
    const auto& raws = cartridge_.raw_tokens;
    const auto found = std::lower_bound(raws.begin(), raws.end(), token, [&](uint32_t id, std::string_view t) {
        return cartridge_.bytes_of(id).view() < t;
    });
    if (!spelled && found != raws.end() && cartridge_.bytes_of(*found).view() == token && has(*found) &&
        content_of(*found) == token)
        return *found;
    if (may_hide)
        for (const AddedToken& added : added_)
            if (content_of(added.id) == token) return added.id;
    return -1;
}

}  // namespace crayon
