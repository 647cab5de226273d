#include "unicode/char_set.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"

namespace crayon {

namespace {

#include "unicode/unicode_properties.inc"

constexpr uint32_t kLastCodePoint = 0x10FFFF;

uint32_t read_leb128(const uint8_t** p) {
    uint32_t value = 0;
    for (int shift = 0;; shift += 7) {
        const uint8_t byte = *(*p)++;
        value |= uint32_t(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
}

// The characters by their folding: the inverse of the table.
struct FoldIndex {
    // A character, and the number of a folding that has it as a member; in order.
    struct Member {
        uint32_t code_point, number;
    };
    std::map<Folded, uint32_t> numbers;
    std::vector<CharSet> members;  // for each number
    std::vector<Member> by_char;
    std::vector<Folded> longer;

    FoldIndex() {
        std::vector<std::vector<CharSet::Range>> listed;
        for (const FullFold& fold : kFullFolds) {
            const Folded key{fold.to[0], fold.to[1], fold.to[2]};
            const auto [it, fresh] = numbers.emplace(key, uint32_t(listed.size()));
            if (fresh) listed.emplace_back();
            if (fresh && key[1] == 0) listed.back().push_back({key[0], key[0]});
            if (fresh && key[1] != 0) longer.push_back(key);
            listed[it->second].push_back({fold.from, fold.from});
        }
        for (const auto& ranges : listed) {
            for (const CharSet::Range& r : ranges) by_char.push_back({r.first, uint32_t(members.size())});
            members.push_back(CharSet::normalized(ranges));
        }
        std::sort(by_char.begin(), by_char.end(),
                  [](const Member& a, const Member& b) { return a.code_point < b.code_point; });
        std::stable_sort(longer.begin(), longer.end(),
                         [](const Folded& a, const Folded& b) { return (a[2] != 0) < (b[2] != 0); });
    }
};

const FoldIndex& fold_index() {
    static const FoldIndex index;
    return index;
}

}  // namespace

CharSet CharSet::range(uint32_t first, uint32_t last) {
    CharSet set;
    set.ranges_.push_back({first, last});
    return set;
}

CharSet CharSet::everything() {
    return range(0, kLastCodePoint);
}

CharSet CharSet::normalized(std::vector<Range> ranges) {
    const auto before = [](const Range& a, const Range& b) { return a.first < b.first; };
    if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::sort(ranges.begin(), ranges.end(), before);
    CharSet set;
    for (const Range& r : ranges) {
        if (!set.ranges_.empty() && r.first <= set.ranges_.back().last + 1)
            set.ranges_.back().last = std::max(set.ranges_.back().last, r.last);
        else
            set.ranges_.push_back(r);
    }
    return set;
}

bool CharSet::contains(uint32_t code_point) const {
    return meets(code_point, code_point);
}

bool CharSet::meets(uint32_t first, uint32_t last) const {
    const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                     [](const Range& r, uint32_t value) { return r.last < value; });
    return it != ranges_.end() && it->first <= last;
}

bool CharSet::covers(uint32_t first, uint32_t last) const {
    const auto it = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                     [](const Range& r, uint32_t value) { return r.last < value; });
    return it != ranges_.end() && it->first <= first && last <= it->last;
}

bool CharSet::meets(const CharSet& other) const {
    size_t i = 0;
    size_t j = 0;
    while (i < ranges_.size() && j < other.ranges_.size()) {
        if (ranges_[i].last < other.ranges_[j].first)
            ++i;
        else if (other.ranges_[j].last < ranges_[i].first)
            ++j;
        else
            return true;
    }
    return false;
}

void CharSet::add(const CharSet& other) {
    if (other.empty()) return;
    std::vector<Range> both;
    both.reserve(ranges_.size() + other.ranges_.size());
    std::merge(ranges_.begin(), ranges_.end(), other.ranges_.begin(), other.ranges_.end(), std::back_inserter(both),
               [](const Range& a, const Range& b) { return a.first < b.first; });
    *this = normalized(std::move(both));
}

CharSet CharSet::intersected(const CharSet& other) const {
    CharSet out;
    size_t i = 0;
    size_t j = 0;
    while (i < ranges_.size() && j < other.ranges_.size()) {
        const uint32_t first = std::max(ranges_[i].first, other.ranges_[j].first);
        const uint32_t last = std::min(ranges_[i].last, other.ranges_[j].last);
        if (first <= last) out.ranges_.push_back({first, last});
        if (ranges_[i].last < other.ranges_[j].last)
            ++i;
        else
            ++j;
    }
    return out;
}

CharSet CharSet::complement() const {
    CharSet out;
    uint32_t next = 0;
    for (const Range& r : ranges_) {
        if (next < r.first) out.ranges_.push_back({next, r.first - 1});
        next = r.last + 1;
    }
    if (next <= kLastCodePoint) out.ranges_.push_back({next, kLastCodePoint});
    return out;
}

std::optional<CharSet> named_set(std::string_view name) {
    const auto* end = std::end(kPropertyNames);
    const auto* it = std::lower_bound(std::begin(kPropertyNames), end, name,
                                      [](const PropertyName& p, std::string_view value) { return p.name < value; });
    if (it == end || it->name != name) return std::nullopt;
    const uint8_t* p = kSetData + kSetOffsets[it->set];
    std::vector<CharSet::Range> ranges(read_leb128(&p));
    uint32_t next = 0;
    for (CharSet::Range& r : ranges) {
        r.first = next + read_leb128(&p);
        r.last = r.first + read_leb128(&p);
        next = r.last + 1;
    }
    return CharSet::normalized(std::move(ranges));
}

std::vector<CodePointRange> property_ranges(std::string_view name) {
    const std::optional<CharSet> set = named_set(name);
    if (!set) throw Error(ErrorKind::argument, "no Unicode property is called '" + std::string(name) + "'");
    std::vector<CodePointRange> ranges;
    for (const CharSet::Range& r : set->ranges()) ranges.push_back({r.first, r.last});
    return ranges;
}

Folded folded(uint32_t code_point) {
    const auto* end = std::end(kFullFolds);
    const auto* it = std::lower_bound(std::begin(kFullFolds), end, code_point,
                                      [](const FullFold& fold, uint32_t value) { return fold.from < value; });
    if (it == end || it->from != code_point) return {code_point, 0, 0};
    return {it->to[0], it->to[1], it->to[2]};
}

CharSet fold_members(const Folded& key) {
    const FoldIndex& index = fold_index();
    const auto it = index.numbers.find(key);
    if (it != index.numbers.end()) return index.members[it->second];
    return key[1] == 0 ? CharSet::of(key[0]) : CharSet();
}

const std::vector<Folded>& long_folds() {
    return fold_index().longer;
}

void add_fold_equivalents(CharSet* set) {
    const FoldIndex& index = fold_index();
    std::vector<bool> met(index.members.size());
    auto range = set->ranges().begin();
    for (const FoldIndex::Member& member : index.by_char) {
        while (range != set->ranges().end() && range->last < member.code_point) ++range;
        if (range == set->ranges().end()) break;
        if (range->first <= member.code_point) met[member.number] = true;
    }
    std::vector<CharSet::Range> added;
    for (size_t i = 0; i < met.size(); ++i) {
        if (!met[i]) continue;
        const std::vector<CharSet::Range>& members = index.members[i].ranges();
        added.insert(added.end(), members.begin(), members.end());
    }
    set->add(CharSet::normalized(std::move(added)));
}

}  // namespace crayon
