#include "decoders/fast_decode.h"

#include <cstring>

#include "crayon/unicode/unicode.h"
#include "decoders/decoder_text.h"

namespace crayon {
namespace {

bool starts_with(Bytes text, std::string_view what) {
    return text.size >= what.size() && std::memcmp(text.data, what.data(), what.size()) == 0;
}

// Writes the token with each `what` (not empty) replaced by a space, or removed if `as_space` is false.
void put_spaced(Bytes token, size_t readable, std::string_view what, bool as_space, TextBlock* out) {
    for (;;) {
        while (starts_with(token, what)) {
            if (as_space) out->put(' ');
            token = token.slice(what.size(), token.size);
            readable -= what.size();
        }
        size_t at = 1;
        for (;; ++at) {
            if (at >= token.size) return out->put(token, readable);
            const void* const found = std::memchr(token.data + at, what[0], token.size - at);
            if (found == nullptr) return out->put(token, readable);
            at = size_t(static_cast<const uint8_t*>(found) - token.data);
            if (starts_with(token.slice(at, token.size), what)) break;
        }
        out->put(token.slice(0, at), readable);
        token = token.slice(at, token.size);
        readable -= at;
    }
}

class MetaspaceJoiner : public TokenJoiner {
  public:
    MetaspaceJoiner(const std::string& replacement, bool drops_first)
        : replacement_(replacement), drops_(drops_first) {}
    void add(Bytes token, size_t readable, TextBlock* out) override {
        put_spaced(token, readable, replacement_, !drops_, out);
        drops_ = false;
    }

  private:
    std::string replacement_;
    bool drops_;  // whether the first token's replacements are dropped
};

class WordPieceJoiner : public TokenJoiner {
  public:
    WordPieceJoiner(const std::string& prefix, bool cleanup) : prefix_(prefix), cleanup_(cleanup) {}
    void add(Bytes token, size_t readable, TextBlock* out) override {
        bool is_spaced = false;
        if (is_first_) {
            is_first_ = false;
        } else if (starts_with(token, prefix_)) {
            token = token.slice(prefix_.size(), token.size);
            readable -= prefix_.size();
        } else {
            is_spaced = true;
        }
        if (cleanup_ && std::memchr(token.data, ' ', token.size) != nullptr) {
            std::string text(is_spaced ? 1 : 0, ' ');
            clean_up(&text.append(token.view()));
            return out->put(Bytes(text));
        }
        // Applies clean_up to a space and a token without spaces.
        if (is_spaced && !(cleanup_ && loses_space(token))) out->put(' ');
        out->put(token, readable);
    }

  private:
    static bool loses_space(Bytes token) {
        if (token.empty()) return false;
        switch (token[0]) {
            case '.':
            case '?':
            case '!':
            case ',':
                return true;
            case 'n':
                return starts_with(token, "n't");
            case '\'':
                return starts_with(token, "'m") || starts_with(token, "'s") || starts_with(token, "'ve") ||
                       starts_with(token, "'re");
            default:
                return false;
        }
    }

    std::string prefix_;
    bool cleanup_, is_first_ = true;
};

class FallbackJoiner : public TokenJoiner {
  public:
    explicit FallbackJoiner(const FallbackSteps& steps) : steps_(steps) {}
    void add(Bytes token, size_t readable, TextBlock* out) override {
        if (!steps_.replaces.empty()) {
            token = replaced(token);
            readable = token.size;
        }
        if (const int byte = byte_named(token); byte >= 0) return add_byte(uint8_t(byte));
        if (!bytes_.empty()) finish(out);
        if (steps_.spaced.empty())
            out->put(token, readable);
        else
            put_spaced(token, readable, steps_.spaced, true, out);
    }
    int byte_of(Bytes token) override { return byte_named(steps_.replaces.empty() ? token : replaced(token)); }
    void add_byte(uint8_t byte) override { bytes_ += char(byte); }
    void finish(TextBlock* out) override {
        if (utf8_error(Bytes(bytes_).data, bytes_.size()) == bytes_.size()) {
            out->put(Bytes(bytes_));
        } else {
            for (size_t i = 0; i < bytes_.size(); ++i) out->put(Bytes(std::string_view("\xEF\xBF\xBD")));
        }
        bytes_.clear();
    }
    bool change(std::string* text) const override {
        const std::string& stripped = steps_.stripped;
        size_t cut = 0;
        for (uint64_t n = 0; n < steps_.strips && text->compare(cut, stripped.size(), stripped) == 0; ++n)
            cut += stripped.size();
        text->erase(0, cut);
        bool has_new = false;
        for (const auto& [what, by] : steps_.replaced) {
            if (text->find(what) == std::string::npos) continue;
            replace_all(text, what, by);
            has_new = true;
        }
        return has_new;
    }

  private:
    Bytes replaced(Bytes token) {
        tokens_.assign(1, std::string(token.view()));
        for (const Decoder* step : steps_.replaces) step->run(&tokens_, token.size);
        return Bytes(tokens_.front());
    }
    // A token in which a mark becomes a space is never the name of a byte.
    int byte_named(Bytes token) const {
        if (!steps_.has_bytes || token.size != 6 || token[0] != '<') return -1;
        const int byte = crayon::byte_of(token.view());
        const std::string& spaced = steps_.spaced;
        return byte >= 0 && !spaced.empty() && token.view().find(spaced) != std::string_view::npos ? -1 : byte;
    }

    const FallbackSteps steps_;
    std::vector<std::string> tokens_;
    std::string bytes_;  // of a run of tokens that each name a byte
};

}  // namespace

std::unique_ptr<TokenJoiner> make_word_piece_joiner(const std::string& prefix, bool cleanup) {
    return std::make_unique<WordPieceJoiner>(prefix, cleanup);
}

std::unique_ptr<TokenJoiner> make_metaspace_joiner(const std::string& replacement, bool drops_first) {
    return std::make_unique<MetaspaceJoiner>(replacement, drops_first);
}

std::unique_ptr<TokenJoiner> make_fallback_joiner(const FallbackSteps& steps) {
    return std::make_unique<FallbackJoiner>(steps);
}

}  // namespace crayon
