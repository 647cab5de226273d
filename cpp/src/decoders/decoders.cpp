#include "crayon/decoders/decoders.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "crayon/regex/regex.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "decoders/decoder_text.h"
#include "decoders/fast_decode.h"
#include "support/size_limits.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

using json::Value;
using Type = Value::Type;
using Tokens = std::vector<std::string>;

std::string join(const Tokens& tokens) {
    std::string out;
    for (const std::string& token : tokens) out += token;
    return out;
}

size_t bytes_of(const Tokens& tokens) {
    size_t size = 0;
    for (const std::string& token : tokens) size += token.size();
    return size;
}

void check(size_t before, size_t after) {
    check_growth(before, after, "decoder");
}

class ByteLevelDecoder : public Decoder {
  public:
    void run(Tokens* tokens, size_t) const override {
        std::string bytes, spelled;
        for (const std::string& token : *tokens) bytes += from_byte_level(token, &spelled) ? spelled : token;
        tokens->assign(1, utf8_lossy(Bytes(bytes).data, bytes.size()));
    }
};

class WordPieceDecoder : public Decoder {
  public:
    WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
    void run(Tokens* tokens, size_t) const override {
        for (size_t i = 0; i < tokens->size(); ++i) {
            std::string& token = (*tokens)[i];
            if (i > 0) {
                if (token.compare(0, prefix_.size(), prefix_) == 0)
                    token.erase(0, prefix_.size());
                else
                    token.insert(token.begin(), ' ');
            }
            if (cleanup_) clean_up(&token);
        }
    }
    std::unique_ptr<TokenJoiner> joiner() const override { return make_word_piece_joiner(prefix_, cleanup_); }

  private:
    std::string prefix_;
    bool cleanup_;
};

class MetaspaceDecoder : public Decoder {
  public:
    MetaspaceDecoder(std::string replacement, bool drops_first)
        : replacement_(std::move(replacement)), drops_first_(drops_first) {}
    void run(Tokens* tokens, size_t) const override {
        for (size_t i = 0; i < tokens->size(); ++i)
            replace_all(&(*tokens)[i], replacement_, i == 0 && drops_first_ ? "" : " ");
    }
    std::unique_ptr<TokenJoiner> joiner() const override { return make_metaspace_joiner(replacement_, drops_first_); }

  private:
    std::string replacement_;
    bool drops_first_;  // whether the first token's replacements are dropped, not made spaces
};

class BpeDecoder : public Decoder {
  public:
    explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
    void run(Tokens* tokens, size_t) const override {
        for (size_t i = 0; i < tokens->size(); ++i)
            replace_all(&(*tokens)[i], suffix_, i + 1 == tokens->size() ? "" : " ");
    }

  private:
    std::string suffix_;
};

class CtcDecoder : public Decoder {
  public:
    CtcDecoder(std::string pad, std::string delimiter, bool cleanup)
        : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}
    void run(Tokens* tokens, size_t) const override {
        tokens->erase(std::unique(tokens->begin(), tokens->end()), tokens->end());
        for (std::string& token : *tokens) {
            replace_all(&token, pad_, "");
            if (!cleanup_) continue;
            clean_up(&token);
            replace_all(&token, delimiter_, " ");
        }
        const auto is_empty = [](const std::string& token) { return token.empty(); };
        tokens->erase(std::remove_if(tokens->begin(), tokens->end(), is_empty), tokens->end());
    }

  private:
    std::string pad_, delimiter_;
    bool cleanup_;
};

class ByteFallbackDecoder : public Decoder {
  public:
    void run(Tokens* tokens, size_t) const override {
        Tokens out;
        std::string bytes;
        const auto flush = [&] {
            if (bytes.empty()) return;
            if (utf8_error(Bytes(bytes).data, bytes.size()) == bytes.size())
                out.push_back(bytes);
            else
                out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
            bytes.clear();
        };
        for (std::string& token : *tokens) {
            const int byte = byte_of(token);
            if (byte >= 0) {
                bytes += char(byte);
                continue;
            }
            flush();
            out.push_back(std::move(token));
        }
        flush();
        *tokens = std::move(out);
    }
};

class FuseDecoder : public Decoder {
  public:
    void run(Tokens* tokens, size_t) const override { tokens->assign(1, join(*tokens)); }
};

class StripDecoder : public Decoder {
  public:
    StripDecoder(std::string content, uint64_t start, uint64_t stop)
        : content_(std::move(content)), start_(start), stop_(stop) {}
    void run(Tokens* tokens, size_t) const override {
        for (std::string& token : *tokens) strip(&token);
    }
    const std::string& content() const { return content_; }
    uint64_t start() const { return start_; }
    uint64_t stop() const { return stop_; }

  private:
    // Both ends are examined in the unchanged token, as in the reference, which panics if the two removed parts
    // overlap.
    void strip(std::string* token) const {
        const size_t size = content_.size(), begin = count_front(*token) * size;
        uint64_t cut = 0;
        size_t end = token->size();
        while (cut < stop_) {
            if (end == 0) fail(*token);
            if (end < size || token->compare(end - size, size, content_) != 0) break;
            end -= size;
            ++cut;
        }
        if (begin > end) fail(*token);
        token->resize(end);
        token->erase(0, begin);
    }

    size_t count_front(const std::string& token) const {
        size_t count = 0;
        while (count < start_ && token.compare(count * content_.size(), content_.size(), content_) == 0) ++count;
        return count;
    }

    [[noreturn]] static void fail(const std::string& token) {
        throw Error(ErrorKind::argument, "decoder Strip removes more from the token " + json::quote(token) +
                                             " than it has (tokenizers fails here, too)");
    }

    std::string content_;  // one character
    uint64_t start_, stop_;
};

class ReplaceDecoder : public Decoder {
  public:
    ReplaceDecoder(std::string content, std::string literal, std::optional<Regex> regex)
        : content_(std::move(content)), literal_(std::move(literal)), regex_(std::move(regex)) {}
    void run(Tokens* tokens, size_t before) const override {
        std::vector<Regex::Match> matches;
        size_t written = 0;
        for (std::string& token : *tokens) {
            if (token.empty()) continue;  // even if the pattern would match
            if (!regex_) {
                if (content_.size() > literal_.size())
                    check(before, written += count_of(literal_, token) * content_.size());
                replace_all(&token, literal_, content_);
                continue;
            }
            matches.clear();
            regex_->find_all(token, &matches);
            check(before, written += matches.size() * content_.size());
            if (!matches.empty()) token = replaced(token, matches);
        }
    }

    // Whether this step replaces a literal that is not empty by a space.
    bool writes_space() const { return !regex_ && !literal_.empty() && content_ == " "; }
    const std::string& literal() const { return literal_; }
    const std::string& content() const { return content_; }
    // An upper limit of the growth factor: a pattern may match before, after and between a token's bytes.
    size_t growth() const { return 2 * std::min(content_.size(), kMostGrowth) + 1; }

  private:
    std::string replaced(const std::string& token, const std::vector<Regex::Match>& matches) const {
        std::string out;
        size_t at = 0;
        for (const Regex::Match& match : matches) {
            out.append(token, at, match.start - at).append(content_);
            at = match.end;
        }
        return out.append(token, at, std::string::npos);
    }

    std::string content_, literal_;
    std::optional<Regex> regex_;
};

class SequenceDecoder : public Decoder {
  public:
    explicit SequenceDecoder(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) { find_joiner(); }
    void run(Tokens* tokens, size_t before) const override {
        for (const auto& step : steps_) {
            step->run(tokens, before);
            check(before, bytes_of(*tokens));
        }
    }
    std::unique_ptr<TokenJoiner> joiner() const override {
        return has_joiner_ ? make_fallback_joiner(joined_) : nullptr;
    }

  private:
    template <typename Step>
    const Step* step_at(size_t i) const {
        return i < steps_.size() ? dynamic_cast<const Step*>(steps_[i].get()) : nullptr;
    }
    // Finds the steps of common files. Llama's: Replace of a mark by a space, ByteFallback, Fuse, Strip at the
    // beginning; without ByteFallback if the model lacks tokens for bytes. SentencePiece's own files replace more in
    // tokens before Fuse, and literals in the text after it.
    void find_joiner() {
        size_t i = 0;
        size_t growth = 1;  // the most bytes that one byte becomes
        while (const auto* replace = step_at<ReplaceDecoder>(i)) {
            joined_.replaces.push_back(replace);
            growth *= replace->growth();
            if (growth > kMostGrowth) return;
            ++i;
        }
        if (i == 1 && step_at<ReplaceDecoder>(0)->writes_space()) {
            joined_.spaced = step_at<ReplaceDecoder>(0)->literal();
            joined_.replaces.clear();
        }
        joined_.has_bytes = step_at<ByteFallbackDecoder>(i) != nullptr;
        if (joined_.has_bytes) ++i;
        if (step_at<FuseDecoder>(i++) == nullptr) return;
        if (const auto* strip = step_at<StripDecoder>(i)) {
            if (strip->stop() != 0) return;
            joined_.stripped = strip->content();
            joined_.strips = strip->start();
            ++i;
        }
        while (const auto* replace = step_at<ReplaceDecoder>(i)) {
            growth *= replace->growth();
            if (growth > kMostGrowth || replace->literal().empty()) return;
            joined_.replaced.emplace_back(replace->literal(), replace->content());
            ++i;
        }
        has_joiner_ = i == steps_.size();
    }

    std::vector<std::unique_ptr<Decoder>> steps_;
    bool has_joiner_ = false;
    FallbackSteps joined_;
};

// The functions make_... read a component's fields. They return null if the fields do not fit the decoder's type.

[[noreturn]] void unsupported(const std::string& what) {
    throw Error(ErrorKind::unsupported, "decoder " + what);
}

std::optional<std::string> text_field(const Value& component, std::string_view name) {
    const Value* value = component.find(name);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return std::string(value->as_string("a decoder's field"));
}

std::optional<bool> flag_field(const Value& component, std::string_view name) {
    const Value* value = component.find(name);
    if (value == nullptr || value->type() != Type::boolean) return std::nullopt;
    return value->as_bool("a decoder's field");
}

// A field of one character.
std::optional<std::string> character_field(const Value& component, std::string_view name) {
    std::optional<std::string> text = text_field(component, name);
    if (text && (text->empty() || character_size(*text, 0) != text->size())) return std::nullopt;
    return text;
}

std::optional<uint64_t> count_field(const Value& component, std::string_view name) {
    const Value* value = component.find(name);
    if (value == nullptr) return std::nullopt;
    if (value->type() == Type::large) unsupported("Strip with a count that is not a small integer");
    if (value->type() != Type::integer || value->as_integer("a count") < 0) return std::nullopt;
    return uint64_t(value->as_integer("a count"));
}

// Whether a field is missing, null or of this type.
bool is_absent_or(const Value& component, std::string_view name, Type type) {
    const Value* value = component.find(name);
    return value == nullptr || value->is_null() || value->type() == type;
}

using Made = std::unique_ptr<Decoder>;

Made make_byte_level(const Value& c) {
    if (!flag_field(c, "add_prefix_space") || !flag_field(c, "trim_offsets")) return nullptr;
    if (c.find("use_regex") != nullptr && !flag_field(c, "use_regex")) return nullptr;
    return std::make_unique<ByteLevelDecoder>();
}

Made make_word_piece(const Value& c) {
    const auto prefix = text_field(c, "prefix");
    const auto cleanup = flag_field(c, "cleanup");
    if (!prefix || !cleanup) return nullptr;
    return std::make_unique<WordPieceDecoder>(*prefix, *cleanup);
}

Made make_metaspace(const Value& c) {
    const auto replacement = character_field(c, "replacement");
    if (!replacement || !is_absent_or(c, "add_prefix_space", Type::boolean) ||
        !is_absent_or(c, "split", Type::boolean) || !is_absent_or(c, "str_rep", Type::string))
        return nullptr;
    std::string scheme = "always";
    if (const Value* given = c.find("prepend_scheme")) {
        if (given->is_object()) unsupported("Metaspace with a prepend_scheme that is not a string");
        if (!given->is_string()) return nullptr;
        scheme = given->as_string("prepend_scheme");
    }
    if (scheme != "always" && scheme != "first" && scheme != "never") return nullptr;
    // Old files have add_prefix_space, which must not contradict the newer field.
    if (flag_field(c, "add_prefix_space") == std::optional<bool>(false) && scheme != "never") return nullptr;
    return std::make_unique<MetaspaceDecoder>(*replacement, scheme != "never");
}

Made make_bpe(const Value& c) {
    const auto suffix = text_field(c, "suffix");
    return suffix ? std::make_unique<BpeDecoder>(*suffix) : nullptr;
}

Made make_ctc(const Value& c) {
    const auto pad = text_field(c, "pad_token"), delimiter = text_field(c, "word_delimiter_token");
    const auto cleanup = flag_field(c, "cleanup");
    if (!pad || !delimiter || !cleanup) return nullptr;
    return std::make_unique<CtcDecoder>(*pad, *delimiter, *cleanup);
}

Made make_byte_fallback(const Value&) {
    return std::make_unique<ByteFallbackDecoder>();
}

Made make_fuse(const Value&) {
    return std::make_unique<FuseDecoder>();
}

Made make_strip(const Value& c) {
    const auto content = character_field(c, "content");
    const auto start = count_field(c, "start"), stop = count_field(c, "stop");
    if (!content || !start || !stop) return nullptr;
    return std::make_unique<StripDecoder>(*content, *start, *stop);
}

Made make_replace(const Value& c) {
    const auto content = text_field(c, "content");
    const Value* pattern = c.find("pattern");
    if (!content || pattern == nullptr || !pattern->is_object() || pattern->as_object("pattern").size() != 1)
        return nullptr;
    if (const auto literal = text_field(*pattern, "String"))
        return std::make_unique<ReplaceDecoder>(*content, *literal, std::nullopt);
    const auto regex = text_field(*pattern, "Regex");
    if (!regex) return nullptr;
    return std::make_unique<ReplaceDecoder>(*content, std::string(), Regex::compile(*regex));
}

Made make_sequence(const Value& c) {
    const Value* parts = c.find("decoders");
    if (parts == nullptr || !parts->is_array()) return nullptr;
    std::vector<std::unique_ptr<Decoder>> steps;
    for (const Value& part : parts->as_array("decoders")) steps.push_back(make_decoder(part));
    return std::make_unique<SequenceDecoder>(std::move(steps));
}

struct Maker {
    std::string_view type;
    Made (*make)(const Value&);
    bool needs_type;  // false: used for a component without a known type if its fields fit; the first maker that fits
                      // decides
};

constexpr Maker kMakers[] = {
    {"BPEDecoder", &make_bpe, false},
    {"ByteLevel", &make_byte_level, true},
    {"WordPiece", &make_word_piece, false},
    {"Metaspace", &make_metaspace, true},
    {"CTC", &make_ctc, false},
    {"Sequence", &make_sequence, true},
    {"Replace", &make_replace, false},
    {"Fuse", &make_fuse, true},
    {"Strip", &make_strip, false},
    {"ByteFallback", &make_byte_fallback, true},
};

Made make(const Value& component) {
    const Value* type = component.find("type");
    if (type != nullptr && type->is_object()) unsupported("with a type that is not a string");
    if (type != nullptr && type->is_string())
        for (const Maker& maker : kMakers)
            if (maker.type == type->as_string("type")) return maker.make(component);
    for (const Maker& maker : kMakers) {
        if (maker.needs_type) continue;
        if (Made made = maker.make(component)) return made;
    }
    return nullptr;
}

}  // namespace

Decoder::~Decoder() = default;

void Decoder::decode(Tokens* tokens) const {
    const size_t before = bytes_of(*tokens);
    run(tokens, before);
    check(before, bytes_of(*tokens));
}

std::unique_ptr<TokenJoiner> Decoder::joiner() const {
    return nullptr;
}

std::unique_ptr<Decoder> make_decoder(const Value& component) {
    if (component.is_array()) unsupported("that is a list");
    Made made = component.is_object() ? make(component) : nullptr;
    if (made) return made;
    const auto type = text_field(component, "type");
    throw Error(ErrorKind::vocabulary, "decoder " + (type ? json::quote(*type) : std::string("without a type")) +
                                           " lacks fields, or has an unknown type");
}

}  // namespace crayon
