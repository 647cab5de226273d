// Reads the rules of a charsmap from its trie: a Darts-clone double array (S. Yata, 2011) over bytes. A unit holds its
// label, a flag for a value, and the XOR of its own index with the base of its children.
#include "crayon/normalizers/charsmap_rules.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

constexpr size_t kHeader = 4;              // bytes: the size of the trie
constexpr size_t kLongestKey = 64;         // in bytes; SentencePiece's own rules have up to 16
constexpr size_t kMostPlaces = 4'000'000;  // units on all paths from the root; SentencePiece's own rules have a tenth
                                           // of that
constexpr uint32_t kHasValue = 0x100;
constexpr uint32_t kCodePoints = 0x110000;
constexpr size_t kBlock = 256;      // characters that are normalized together
constexpr size_t kSequences = 512;  // keys that are normalized together

[[noreturn]] void refuse(const std::string& why) {
    throw Error(ErrorKind::vocabulary, "the normalization rules are damaged: " + why);
}

[[noreturn]] void refuse_rule() {
    refuse("a rule is not UTF-8, or has no end");
}

uint32_t number_at(const std::string& bytes, size_t at) {
    uint32_t number = 0;
    for (size_t i = 0; i < 4; ++i) number |= uint32_t(uint8_t(bytes[at + i])) << (8 * i);
    return number;
}

size_t offset_of(uint32_t unit) {
    return size_t(unit >> 10) << ((unit & 0x200) >> 6);
}

// The label of a unit: a byte, or a number above 0xFF for a unit that holds a value.
uint32_t label_of(uint32_t unit) {
    return unit & 0x8000'00FFu;
}

bool is_utf8(std::string_view text) {
    return utf8_error(reinterpret_cast<const uint8_t*>(text.data()), text.size()) == text.size();
}

uint32_t code_point_of(std::string_view character) {
    const Bytes bytes(character);
    return character_at(bytes.begin(), bytes.end()).code_point;
}

// The start of the last character of a text, which is not empty.
size_t last_character(std::string_view text) {
    const Bytes bytes(text);
    return size_t(character_before(bytes.begin(), bytes.end()) - bytes.begin());
}

// The units in groups of siblings. A unit's index XOR its label is the base that its parent gives; groups are in order
// of this base.
class Children {
  public:
    template <typename UnitAt>
    Children(size_t units, UnitAt unit_at) : starts_((units | 0xFF) + 2), places_(units) {
        const auto parent_of = [&](size_t place) -> size_t {
            const uint32_t label = label_of(unit_at(place));
            return label > 0 && label <= 0xFF ? place ^ label : SIZE_MAX;
        };
        for (size_t place = 0; place < units; ++place)
            if (const size_t parent = parent_of(place); parent != SIZE_MAX) ++starts_[parent + 1];
        for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
        std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
        for (size_t place = 0; place < units; ++place)
            if (const size_t parent = parent_of(place); parent != SIZE_MAX) places_[next[parent]++] = uint32_t(place);
    }

    Array<uint32_t> of(size_t base) const {
        if (base + 1 >= starts_.size()) return {};
        return {places_.data() + starts_[base], starts_[base + 1] - starts_[base]};
    }

  private:
    std::vector<uint32_t> starts_;
    std::vector<uint32_t> places_;
};

// Calls `each` with the index of an item and its normalized text. Joins the items by NULs, which a normalizer never
// combines with other characters.
template <typename Each>
void normalize_joined(const Normalizer& normalizer, std::string_view joined, size_t items, Each each) {
    AlignedText text;
    text.assign(joined, false);
    normalizer.normalize(&text);
    std::string_view rest = text.text;
    for (size_t i = 0; i < items; ++i) {
        const size_t end = std::min(rest.find('\0'), rest.size());
        each(i, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

}  // namespace

CharsmapRules::CharsmapRules(std::string charsmap) : charsmap_(std::move(charsmap)) {
    const size_t size = charsmap_.size() < kHeader ? 0 : number_at(charsmap_, 0);
    if (size == 0 || size % 4 != 0 || size + kHeader >= charsmap_.size()) refuse("their trie is longer than the data");
    units_ = size / 4;
    outputs_ = kHeader + size;
    has_utf8_outputs_ = is_utf8(std::string_view(charsmap_).substr(outputs_));
    read_trie();
}

CharsmapRules::Pair CharsmapRules::operator[](size_t i) const {
    const Rule& rule = rules_[i];
    return {std::string_view(keys_).substr(rule.key, rule.key_size),
            std::string_view(charsmap_).substr(rule.value, rule.value_size)};
}

uint32_t CharsmapRules::unit(size_t place) const {
    return number_at(charsmap_, kHeader + 4 * place);
}

bool CharsmapRules::has_child(size_t base, uint8_t label) const {
    const size_t place = base ^ label;
    return label != 0 && place < units_ && label_of(unit(place)) == label;
}

void CharsmapRules::read_trie() {
    const Children children(units_, [this](size_t place) { return unit(place); });
    struct Waiting {
        uint32_t place, depth;
    };
    std::array<char, kLongestKey + 1> path;
    std::vector<Waiting> waiting{{0, 0}};
    for (size_t reached = 1; !waiting.empty(); ++reached) {
        const auto [place, depth] = waiting.back();
        waiting.pop_back();
        if (reached > kMostPlaces || depth > kLongestKey)
            refuse("more than " + std::to_string(kMostPlaces) + " places, or a rule for more than " +
                   std::to_string(kLongestKey) + " bytes");
        const uint32_t here = unit(place);
        const size_t base = place ^ offset_of(here);
        if (depth > 0)
            path[depth - 1] = char(here & 0xFF);  // path[0, depth - 1) has the labels of its parents, which were
                                                  // visited last
        if (here & kHasValue) {
            if (base >= units_) refuse_rule();
            add_rule({path.data(), depth}, unit(base) & 0x7FFF'FFFFu);
        }
        for (const uint32_t child : children.of(base)) waiting.push_back({child, depth + 1});
    }
}

void CharsmapRules::add_rule(std::string_view key, size_t value) {
    const size_t begin = outputs_ + value;
    const size_t end = begin < charsmap_.size() ? charsmap_.find('\0', begin) : std::string::npos;
    if (end == std::string::npos || !is_utf8(key)) refuse_rule();
    // If all replacements together are valid UTF-8, one that begins at a character's start is valid, too.
    const bool is_known = has_utf8_outputs_ && (uint8_t(charsmap_[begin]) & 0xC0) != 0x80;
    if (!is_known && !is_utf8(std::string_view(charsmap_).substr(begin, end - begin))) refuse_rule();
    const bool is_single = !key.empty() && last_character(key) == 0;
    rules_.push_back({keys_.size(), key.size(), begin, end - begin, is_single});
    keys_ += key;
}

std::string_view CharsmapRules::value_at(size_t offset) const {
    const size_t begin = outputs_ + offset;
    return std::string_view(charsmap_).substr(begin, charsmap_.find('\0', begin) - begin);
}

bool CharsmapRules::find(std::string_view key, std::string_view* value) const {
    size_t base = offset_of(unit(0));
    uint32_t here = unit(0);
    for (const char byte : key) {
        if (!has_child(base, uint8_t(byte))) return false;
        const size_t place = base ^ uint8_t(byte);
        here = unit(place);
        base = place ^ offset_of(here);
    }
    if ((here & kHasValue) == 0) return false;
    *value = value_at(unit(base) & 0x7FFF'FFFFu);
    return true;
}

std::string CharsmapRules::apply(std::string_view text) const {
    std::string made;
    const Bytes bytes(text);
    for (size_t at = 0; at < text.size();) {
        size_t taken = 0;
        std::string_view value;
        size_t base = offset_of(unit(0));
        for (size_t end = at; end < text.size() && has_child(base, bytes[end]); ++end) {
            const size_t place = base ^ bytes[end];
            const uint32_t here = unit(place);
            base = place ^ offset_of(here);
            if (here & kHasValue) {
                taken = end + 1 - at;
                value = value_at(unit(base) & 0x7FFF'FFFFu);
            }
        }
        if (taken == 0) {
            taken = char_size(bytes, at);
            value = text.substr(at, taken);
        }
        made += value;
        at += taken;
    }
    return made;
}

std::vector<CharsmapRules::Following> CharsmapRules::following(std::string_view* orphan) const {
    std::vector<Following> found;
    std::unordered_map<std::string_view, size_t> indices;
    size_t last = 0;  // index in `found` of the previous rule's prefix, which most rules share
    for (size_t i = 0; i < rules_.size(); ++i) {
        const auto [key, value] = (*this)[i];
        if (rules_[i].is_single || key.empty()) continue;
        const std::string_view start = key.substr(0, last_character(key));
        if (found.empty() || found[last].start != start) {
            const auto [entry, is_new] = indices.try_emplace(start, found.size());
            last = entry->second;
            if (is_new) {
                std::string_view own;
                if (orphan->empty() && last_character(start) != 0 && !find(start, &own)) *orphan = key;
                found.push_back({start, {}});
            }
        }
        found[last].chars.push_back(code_point_of(key.substr(start.size())));
    }
    for (Following& one : found) {
        std::reverse(one.chars.begin(), one.chars.end());  // most are found in descending order
        if (!std::is_sorted(one.chars.begin(), one.chars.end())) std::sort(one.chars.begin(), one.chars.end());
    }
    return found;
}

CharsmapRules::Differences CharsmapRules::differences(const Normalizer& normalizer) const {
    Differences found;
    compare_chars(normalizer, &found.chars);
    compare_sequences(normalizer, &found.sequences);
    return found;
}

void CharsmapRules::compare_chars(const Normalizer& normalizer, std::vector<uint32_t>* differing) const {
    std::vector<std::pair<uint32_t, std::string_view>> ruled;
    for (size_t i = 0; i < rules_.size(); ++i)
        if (rules_[i].is_single) ruled.emplace_back(code_point_of((*this)[i].first), (*this)[i].second);
    std::sort(ruled.begin(), ruled.end());
    auto rule = ruled.cbegin();
    std::string joined;
    for (uint32_t first = 0; first < kCodePoints; first += kBlock) {
        if (first >= 0xD800 && first < 0xE000) continue;
        const uint32_t begin = std::max<uint32_t>(first, 1), end = first + kBlock;
        joined.clear();
        for (uint32_t c = begin; c < end; ++c) {
            append_utf8(c, &joined);
            joined += '\0';
        }
        if ((rule == ruled.cend() || rule->first >= end) && normalizer.leaves(joined)) continue;
        normalize_joined(normalizer, joined, end - begin, [&](size_t i, std::string_view made) {
            const uint32_t c = begin + uint32_t(i);
            char bytes[4];
            std::string_view wanted(bytes, put_utf8(c, bytes));
            if (rule != ruled.cend() && rule->first == c) wanted = (rule++)->second;
            if (made != wanted) differing->push_back(c);
        });
    }
}

void CharsmapRules::compare_sequences(const Normalizer& normalizer, std::vector<Pair>* differing) const {
    std::vector<Pair> pairs;
    std::string joined;
    const auto compare = [&](size_t i, std::string_view made) {
        if (made != pairs[i].second) differing->push_back(pairs[i]);
    };
    for (size_t i = 0; i <= rules_.size(); ++i) {
        if (pairs.size() == kSequences || i == rules_.size()) {
            normalize_joined(normalizer, joined, pairs.size(), compare);
            pairs.clear();
            joined.clear();
        }
        if (i == rules_.size() || rules_[i].is_single || rules_[i].key_size == 0) continue;
        pairs.push_back((*this)[i]);
        joined += pairs.back().first;
        joined += '\0';
    }
}

}  // namespace crayon
