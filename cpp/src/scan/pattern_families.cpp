// The published patterns.
#include "crayon/scan/pattern_families.h"

namespace crayon {
namespace {

constexpr const char* kNames[kFamilyCount] = {"whole", "gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken"};

// The regex engines that read a pattern as its family.
enum Readers : uint32_t { kOnigurumaReads = 1, kRustReads = 2, kBothRead = 3 };

struct Spelling {
    Family family;
    uint32_t readers;
    std::string_view pattern;
};

// Parts that several spellings share.
#define FOLDED_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
#define CONTRACTION_TAIL R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
#define CASED_WORDS(tail)                                                                  \
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" tail \
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" tail "|"

// The first spelling of each family is its canonical one. Two differences matter. `{1,3}+` is a repeated repeat for
// Oniguruma, and possessive for the regex crate. `$` is the end of a line for Oniguruma, and the end of the text for
// the regex crate, so the canonical cl100k uses `\z`.
constexpr Spelling kSpellings[] = {
    // GPT-2 as released, ByteLevel's own, tiktoken before 0.5
    {Family::gpt2, kBothRead, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Family::gpt2, kBothRead, R"('s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    // tiktoken 0.5, and since 0.8
    {Family::gpt2, kBothRead, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {Family::gpt2, kBothRead, R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"},

    {Family::cl100k, kBothRead,
     FOLDED_CONTRACTIONS
     R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s++\z|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    // tiktoken since 0.8
    {Family::cl100k, kRustReads,
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|)"
     R"(\s+(?!\S)|\s)"},

    // Llama 3, cl100k as converted for Hugging Face, tiktoken before 0.5
    {Family::llama3, kBothRead,
     FOLDED_CONTRACTIONS R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    // tiktoken 0.5
    {Family::llama3, kBothRead,
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|)"
     R"(\s+(?!\S)|\s+)"},

    {Family::llama3, kBothRead,
     FOLDED_CONTRACTIONS R"([^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},

    {Family::qwen2, kBothRead,
     FOLDED_CONTRACTIONS R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},

    {Family::o200k, kBothRead,
     CASED_WORDS(CONTRACTION_TAIL) R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},

    // Mistral's tekken.json (240718 and 240911), and its conversions for Hugging Face
    {Family::tekken, kBothRead, CASED_WORDS("") R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

// Kimi K2's pattern, which separates Han from other words. It has no family, but means the same to both regex engines.
constexpr std::string_view kReadAlike =
    R"([\p{Han}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)" CONTRACTION_TAIL
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)" CONTRACTION_TAIL
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

#undef FOLDED_CONTRACTIONS
#undef CONTRACTION_TAIL
#undef CASED_WORDS

}  // namespace

const char* family_name(Family family) {
    const uint32_t index = static_cast<uint32_t>(family);
    return index < kFamilyCount ? kNames[index] : "unknown";
}

bool family_of_name(std::string_view name, Family* family) {
    for (uint32_t i = 0; i < kFamilyCount; ++i) {
        if (name == kNames[i]) {
            *family = static_cast<Family>(i);
            return true;
        }
    }
    return false;
}

bool family_of_pattern(std::string_view regex, Flavor flavor, Family* family) {
    const uint32_t reader = flavor == Flavor::oniguruma ? kOnigurumaReads : kRustReads;
    for (const Spelling& spelling : kSpellings) {
        if ((spelling.readers & reader) != 0 && regex == spelling.pattern) {
            *family = spelling.family;
            return true;
        }
    }
    return false;
}

bool is_read_alike(std::string_view regex) {
    return regex == kReadAlike;
}

const char* canonical_pattern(Family family) {
    for (const Spelling& spelling : kSpellings) {
        if (spelling.family == family) return spelling.pattern.data();
    }
    return "";
}

std::vector<std::string_view> known_patterns(Flavor flavor) {
    const uint32_t reader = flavor == Flavor::oniguruma ? kOnigurumaReads : kRustReads;
    std::vector<std::string_view> patterns;
    for (const Spelling& spelling : kSpellings) {
        if ((spelling.readers & reader) != 0) patterns.push_back(spelling.pattern);
    }
    return patterns;
}

}  // namespace crayon
