#include "added_matcher.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "crayon/error.h"
#include "crayon/unicode.h"

namespace crayon {
namespace {

size_t spaces_start_before(Bytes text, size_t at, size_t limit) {
    while (at > limit) {
        const Decoded c = decode_utf8_before(text.begin(), text.begin() + at);
        if (!c.valid || !is_white_space(c.code_point)) break;
        at -= c.size;
    }
    return at;
}

size_t spaces_end_after(Bytes text, size_t at) {
    while (at < text.size) {
        const Decoded c = decode_utf8(text.begin() + at, text.end());
        if (!c.valid || !is_white_space(c.code_point)) break;
        at += c.size;
    }
    return at;
}

bool word_before(Bytes text, size_t at) {
    if (at == 0) return false;
    const Decoded c = decode_utf8_before(text.begin(), text.begin() + at);
    return c.valid && is_word_char(c.code_point);
}

bool word_after(Bytes text, size_t at) {
    if (at == text.size) return false;
    const Decoded c = decode_utf8(text.begin() + at, text.end());
    return c.valid && is_word_char(c.code_point);
}

}  // namespace

AddedMatcher::AddedMatcher(const DoubleArrayView& trie, Array<AddedToken> tokens) : trie_(trie), tokens_(tokens) {
    if (trie_.size == 0) return;
    int count = 0;
    for (int b = 0; b < 256; ++b) {
        starts_[size_t(b)] = trie_.step(0, uint8_t(b)) >= 0;
        if (starts_[size_t(b)]) {
            ++count;
            only_start_ = b;
        }
    }
    if (count != 1) only_start_ = -1;
}

size_t AddedMatcher::next_candidate(Bytes text, size_t from) const {
    if (only_start_ >= 0) {
        const void* found = from < text.size ? std::memchr(text.data + from, only_start_, text.size - from) : nullptr;
        return found ? size_t(static_cast<const uint8_t*>(found) - text.data) : text.size;
    }
    while (from < text.size && !starts_[text[from]]) ++from;
    return from;
}

bool AddedMatcher::begins_with(Bytes start) const {
    int32_t node = trie_.size == 0 ? -1 : 0;
    for (const uint8_t byte : start)
        if (node >= 0) node = trie_.step(node, byte);
    return node >= 0;
}

bool AddedMatcher::finds(Bytes text) const {
    if (empty()) return false;
    for (size_t at = next_candidate(text, 0); at < text.size; at = next_candidate(text, at + 1))
        if (trie_.longest_match(text.slice(at, text.size)).first > 0) return true;
    return false;
}

void AddedMatcher::split(Bytes text, bool special_as_text, std::vector<Segment>* out) const {
    out->clear();
    size_t done = 0;
    size_t spaces_end = 0;  // of the white space that an rstrip went through last: never gone through twice
    for (size_t at = next_candidate(text, 0); at < text.size;) {
        const auto [length, index] = trie_.longest_match(text.slice(at, text.size));
        if (length == 0) {
            at = next_candidate(text, at + 1);
            continue;
        }
        size_t start = at, stop = at + length;
        at = next_candidate(text, stop);
        const uint32_t flags = tokens_[size_t(index)].flags;
        if (special_as_text && (flags & kSpecialToken)) continue;
        if ((flags & kSingleWord) && (word_before(text, start) || word_after(text, stop))) continue;
        if (flags & kLstrip) start = std::max(spaces_start_before(text, start, done), done);
        if (flags & kRstrip) stop = spaces_end = stop < spaces_end ? spaces_end : spaces_end_after(text, stop);
        // A token inside the white space that the one before took: with lstrip nothing of it may be left.
        if (start > stop)
            throw Error(ErrorKind::vocabulary, "added tokens claim the same white space at byte " +
                                                   std::to_string(stop) +
                                                   " of the text: the reference cannot encode it, either");
        if (done < start) out->push_back({done, start, kPlainText});
        if (start < stop) out->push_back({start, stop, index});
        done = stop;
    }
    if (done != text.size) out->push_back({done, text.size, kPlainText});
}

}  // namespace crayon
