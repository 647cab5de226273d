// Precompiled: sentencepiece's charsmap, applied cluster by cluster as tokenizers does.
//
// If a grapheme cluster of less than six bytes begins with a key, the replacement of the shortest such key replaces the
// whole cluster. Otherwise, and in longer clusters, characters are looked up one by one.
#include <array>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "normalizers/charsmap.h"
#include "normalizers/normalizer_common.h"
#include "normalizers/text_rewriter.h"
#include "unicode/char_kinds.h"
#include "unicode/graphemes.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

constexpr ptrdiff_t kLongestCluster = 5;  // in bytes

size_t count_characters(const uint8_t* p, const uint8_t* end) {
    size_t n = 0;
    for (; p < end; p += character_at(p, end).size) ++n;
    return n;
}

// Writes replacements, and counts as the reference does how many old characters each new one replaces. If a replacement
// has too few characters, the last character written counts the surplus, even if it is of another cluster. If no
// character was written, the surplus is lost.
class Replacer {
  public:
    Replacer(AlignedText* text, const uint8_t* begin) : out_(text), kept_(begin) {}

    void replace(const uint8_t* p, const uint8_t* end, std::string_view replacement) {
        const Bytes fresh(replacement);
        const auto old_count = int64_t(count_characters(p, end));
        const auto new_count = int64_t(count_characters(fresh.begin(), fresh.end()));
        if (kept_ < p) {
            flush();
            const uint8_t* last = character_before(kept_, p);
            out_.keep(kept_, last);
            hold(character_at(last, p).code_point, 0);
        }
        kept_ = end;
        int64_t written = 0;
        for (const uint8_t* q = fresh.begin(); q < fresh.end(); ++written) {
            const Character c = character_at(q, fresh.end());
            flush();
            hold(c.code_point, written < old_count ? 0 : 1);
            q += c.size;
        }
        if (new_count < old_count && holds_) held_.change += int32_t(new_count - old_count);
    }

    void finish(const uint8_t* end) {
        flush();
        out_.keep(kept_, end);
        out_.finish();
    }

  private:
    void hold(uint32_t code_point, int32_t change) {
        held_ = {code_point, change};
        holds_ = true;
    }
    void flush() {
        if (holds_) out_.put(held_.code_point, held_.change);
        holds_ = false;
    }

    TextRewriter out_;
    const uint8_t* kept_;  // unchanged characters, as far as examined, start here
    Change held_{0, 0};    // the last character written before the unchanged characters from kept_ on
    bool holds_ = false;
};

class Precompiled final : public Normalizer {
  public:
    explicit Precompiled(const std::string& bytes) : map_(bytes) {
        plain_.fill(false);
        white_.fill(false);
        if (map_.empty()) return;
        for (uint32_t c = 0; c < 0x80; ++c) {
            const auto byte = uint8_t(c);
            std::string_view replacement;
            try {
                const bool is_key = map_.find_shortest(&byte, &byte + 1, &replacement) != 0;
                plain_[c] = c != '\r' && !is_key;
                white_[c] = plain_[c] || (c != '\r' && is_white_space(c) && replacement == " ");
            } catch (const Error&) {
                // The error is raised again for a text that has the character.
            }
        }
    }

    void normalize(AlignedText* text) const override {
        const uint8_t* p = reinterpret_cast<const uint8_t*>(text->text.data());
        const uint8_t* const end = p + text->size();
        Match match = next(p, end);
        if (match.begin == end) return;
        Replacer out(text, p);
        for (; match.begin < end; match = next(match.end, end, match.cluster))
            out.replace(match.begin, match.end, match.replacement);
        out.finish(end);
    }

    bool leaves(Bytes text) const override { return next(text.begin(), text.end()).begin == text.end(); }
    bool keeps_words(Bytes text) const override {
        return next(text.begin(), text.end(), nullptr, white_).begin == text.end();
    }

    // Clusters are independent. A character that is surely a cluster by itself becomes its own replacement. Such a
    // replacement is not empty, so no surplus goes to a neighbour.
    bool divides(Border* b) const override {
        const auto parts = [](uint32_t before, uint32_t after) {
            if (after == kUnknownChar || (before == '\r' && after == '\n')) return false;
            const auto class_of = [](uint32_t c) { return GraphemeClass(char_kind(c) & kGraphemeMask); };
            if (class_of(after) == GraphemeClass::control && after != '\n') return true;
            if (before == kUnknownChar) return false;
            const GraphemeClass first = class_of(before), second = class_of(after);
            return first == GraphemeClass::control || second == GraphemeClass::control ||
                   (first == GraphemeClass::other && second == GraphemeClass::other);
        };
        if (map_.empty()) return true;
        if (!parts(b->before[0], b->after[0]) || !parts(b->before[1], b->before[0])) return false;
        std::string_view replacement;
        if (replaces(b->before[0], &replacement)) {
            if (replacement.empty()) return false;
            const Bytes fresh(replacement);
            b->before[0] = character_at(character_before(fresh.begin(), fresh.end()), fresh.end()).code_point;
        }
        b->before[1] = kUnknownChar;
        for (size_t i = 0; i < Border::kAfter; ++i) {
            const uint32_t c = b->after[i];
            const uint32_t next = i + 1 < Border::kAfter ? b->after[i + 1] : kUnknownChar;
            const bool is_alone =
                c != kUnknownChar && c != '\r' &&
                (parts(c, next) || (c < 0x80 && GraphemeClass(char_kind(c) & kGraphemeMask) == GraphemeClass::control));
            if (is_alone && !replaces(c, &replacement)) continue;
            if (is_alone && !replacement.empty()) {
                const Bytes fresh(replacement);
                const Character first = character_at(fresh.begin(), fresh.end());
                b->after[i] = first.code_point;
                if (first.size == fresh.size) continue;
                ++i;
            }
            for (; i < Border::kAfter; ++i) b->after[i] = kUnknownChar;
        }
        return b->after[0] != kUnknownChar;
    }

    // The reference does not count characters at the very start whose replacement is empty (Replacer).
    bool shifts(Bytes text) const override {
        if (text.empty()) return !map_.empty();
        const Match match = next(text.begin(), text.end());
        return match.begin == text.begin() && match.replacement.empty();
    }

  private:
    bool replaces(uint32_t c, std::string_view* replacement) const {
        char bytes[4];
        const auto* p = reinterpret_cast<const uint8_t*>(bytes);
        return map_.find_shortest(p, p + put_utf8(c, bytes), replacement) != 0;
    }

    struct Match {
        const uint8_t* begin;
        const uint8_t* end;
        const uint8_t* cluster;  // the end of its cluster
        std::string_view replacement;
    };

    // Returns the first replacement at p or later. p is at the start of a cluster, or inside a cluster that ends at
    // `cluster` and is looked up character by character.
    Match next(const uint8_t* p, const uint8_t* end, const uint8_t* cluster = nullptr) const {
        return next(p, end, cluster, plain_);
    }
    using AsciiSet = std::array<bool, 0x80>;
    // Does what next() does, but skips the ASCII characters in `kept`.
    Match next(const uint8_t* p, const uint8_t* end, const uint8_t* cluster, const AsciiSet& kept) const {
        std::string_view replacement;
        while (p < end) {
            if (cluster == nullptr || p >= cluster) {
                // ASCII before ASCII is a cluster of its own, as are other characters that combine with no neighbour.
                for (;;) {
                    uint32_t size = 1;
                    if (*p < 0x80) {
                        if (!kept[*p]) break;
                    } else {
                        const Character c = character_at(p, end);
                        if (!stands_alone(c.code_point)) break;
                        size = c.size;
                    }
                    const uint8_t* const after = p + size;
                    if (after < end && *after >= 0x80 && !stands_alone(character_at(after, end).code_point)) break;
                    p = after;
                    if (p == end) return {end, end, end, {}};
                }
                cluster = cluster_end(p, end);
                if (cluster - p <= kLongestCluster && map_.find_shortest(p, cluster, &replacement) != 0)
                    return {p, cluster, cluster, replacement};
            }
            for (; p < cluster;) {
                const uint8_t* stop = p + character_at(p, cluster).size;
                if (map_.find_shortest(p, stop, &replacement) != 0) return {p, stop, cluster, replacement};
                p = stop;
            }
        }
        return {end, end, end, {}};
    }

    // Whether a character is not a key, and forms no cluster with ASCII or with another such character.
    bool stands_alone(uint32_t c) const {
        if (c >= kKnownLimit) return false;
        const uint64_t bit = uint64_t(1) << (c & 63);
        if ((known_[c >> 6].load(std::memory_order_acquire) & 1) == 0) look_at(c >> 6);
        return alone_[c >> 6].load(std::memory_order_relaxed) & bit;
    }
    // Computes stands_alone for the 64 characters of a block. Concurrent threads write the same result.
    void look_at(uint32_t block) const {
        uint64_t alone = 0;
        for (uint32_t i = 0; i < 64; ++i) {
            const uint32_t c = block << 6 | i;
            if (c < 0x80 || (c >= 0xD800 && c < 0xE000)) continue;
            bool is_alone = false;
            switch (GraphemeClass(char_kind(c) & kGraphemeMask)) {
                case GraphemeClass::other:
                case GraphemeClass::lv:
                case GraphemeClass::lvt:
                case GraphemeClass::pictograph:
                case GraphemeClass::consonant:
                    is_alone = true;
                    break;
                default:
                    break;
            }
            std::string_view replacement;
            try {
                is_alone = is_alone && !replaces(c, &replacement);
            } catch (const Error&) {
                is_alone = false;  // raised again for a text that has the character
            }
            if (is_alone) alone |= uint64_t(1) << i;
        }
        alone_[block].store(alone, std::memory_order_relaxed);
        known_[block].store(1, std::memory_order_release);
    }

    static constexpr uint32_t kKnownLimit = 0x10000;
    mutable std::array<std::atomic<uint64_t>, kKnownLimit / 64> alone_{};
    mutable std::array<std::atomic<uint8_t>, kKnownLimit / 64> known_{};
    Charsmap map_;
    AsciiSet plain_;  // ASCII characters that are not keys
    AsciiSet white_;  // the characters of plain_, and white-space characters that become a space
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(const std::string& charsmap) {
    return std::make_unique<Precompiled>(charsmap);
}

}  // namespace crayon
