#include "pipeline/added_matcher.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "pipeline/backward_match.h"

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

// The most trie steps before BackwardMatch takes over. Published tokens stay far below.
constexpr size_t kStepsForEach = 16, kStepsForAny = 1024;
constexpr size_t kBlock = 1 << 14;  // least bytes that BackwardMatch processes at once

}  // namespace

// Built by the first text that needs it. Lock-free, because the child of a fork could find a lock taken for ever. A
// thread that loses the race deletes its matcher.
struct AddedMatcher::Backward {
    std::atomic<const BackwardMatch*> made{nullptr};

    ~Backward() { delete made.load(); }
    const BackwardMatch& of(const DoubleArrayView& trie) {
        if (made.load(std::memory_order_acquire) == nullptr) {
            auto own = std::make_unique<const BackwardMatch>(trie);
            const BackwardMatch* none = nullptr;
            if (made.compare_exchange_strong(none, own.get())) (void)own.release();
        }
        return *made.load(std::memory_order_acquire);
    }
};

// Finds the longest added token's content at places of one text, which are asked for in ascending order.
class AddedMatcher::Longest {
  public:
    Longest(const AddedMatcher& matcher, Bytes text)
        : matcher_(matcher), text_(text), steps_left_(kStepsForAny + kStepsForEach * text.size) {}

    // Returns {bytes, index}, or {0, -1} if no content begins there.
    std::pair<size_t, int32_t> at(size_t place) {
        if (backward_ == nullptr) {
            if (steps_left_ > 0) {
                size_t steps;
                const auto match = matcher_.trie_.longest_match(text_.slice(place, text_.size), &steps);
                steps_left_ -= std::min(steps, steps_left_);
                return match;
            }
            backward_ = &matcher_.backward_->of(matcher_.trie_);
        }
        if (!backward_->works()) return matcher_.trie_.longest_match(text_.slice(place, text_.size));
        if (place >= begin_ + block_.size()) {
            begin_ = place;
            const size_t size = std::max(kBlock, backward_->longest());
            backward_->match(text_, place, place + std::min(size, text_.size - place), &block_);
        }
        const BackwardMatch::Match& match = block_[place - begin_];
        return {match.size, match.value};
    }

  private:
    const AddedMatcher& matcher_;
    const Bytes text_;
    size_t steps_left_;
    const BackwardMatch* backward_ = nullptr;
    size_t begin_ = 0;
    std::vector<BackwardMatch::Match> block_;
};

AddedMatcher::AddedMatcher(const DoubleArrayView& trie, Array<AddedToken> tokens) : trie_(trie), tokens_(tokens) {
    if (trie_.size == 0) return;
    backward_ = std::make_shared<Backward>();
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

bool AddedMatcher::may_go_on(Bytes text, size_t longest, size_t* steps_left) const {
    const size_t first = text.size > longest ? text.size - longest : 0;
    const auto take = [steps_left](size_t steps) { return (*steps_left -= std::min(steps, *steps_left)) == 0; };
    if (take(text.size - first)) return true;
    for (size_t at = next_candidate(text, first); at < text.size; at = next_candidate(text, at + 1)) {
        size_t end = at;
        int32_t node = 0;
        while (end < text.size && node >= 0) node = trie_.step(node, text[end++]);
        if (node >= 0 || take(end - at)) return true;
    }
    return false;
}

bool AddedMatcher::finds(Bytes text) const {
    if (empty()) return false;
    Longest longest(*this, text);
    for (size_t at = next_candidate(text, 0); at < text.size; at = next_candidate(text, at + 1))
        if (longest.at(at).first > 0) return true;
    return false;
}

void AddedMatcher::split(Bytes text, bool special_as_text, std::vector<MatchedPart>* out) const {
    out->clear();
    size_t done = 0;
    size_t spaces_end = 0;  // end of the white space that the last rstrip scanned, so that none is scanned twice
    Longest longest(*this, text);
    for (size_t at = next_candidate(text, 0); at < text.size;) {
        const auto [length, index] = longest.at(at);
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
        // The previous token may have taken the white space that contains this token, and lstrip then leaves nothing of
        // it.
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
