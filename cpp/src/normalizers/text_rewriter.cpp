#include "normalizers/text_rewriter.h"

#include <utility>

#include "crayon/support/error.h"

namespace crayon {

TextRewriter::TextRewriter(AlignedText* text, size_t start, size_t end)
    : text_(text),
      begin_(reinterpret_cast<const uint8_t*>(text->text.data())),
      next_(begin_ + start),
      end_(begin_ + end),
      tracked_(text->aligned || text->unplaced != 0),
      borrowed_(!text->aligned && text->unplaced != 0) {
    if (borrowed_) {
        text->alignments.assign(text->size(), {0, 1});
        for (size_t i = 0; i < text->unplaced; ++i) text->alignments[i] = {0, 0};
    }
    out_.reserve(text->size() + text->size() / 8 + 16);
    out_.assign(text->text, 0, start);
    if (tracked_) {
        alignments_.reserve(text->size() + text->size() / 8 + 16);
        alignments_.assign(text->alignments.begin(), text->alignments.begin() + ptrdiff_t(start));
    }
}

TextRewriter::~TextRewriter() {
    if (borrowed_) text_->alignments.clear();
}

void TextRewriter::advance(size_t characters) {
    for (; characters > 0 && next_ < end_; --characters) next_ += character_at(next_, end_).size;
}

void TextRewriter::align(size_t size, int32_t change) {
    const std::vector<Alignment>& old = text_->alignments;
    const size_t at = size_t(next_ - begin_);
    Alignment alignment{0, 0};
    if (change > 0) {
        if (at > 0) alignment = old[at - 1];
    } else {
        if (at >= old.size())
            throw Error(ErrorKind::argument,
                        "a normalizer after one that inserts text at the very start cannot change the text "
                        "(tokenizers panics here, too)");
        alignment = old[at];
        advance(size_t(1) + size_t(-int64_t(change)));
    }
    alignments_.insert(alignments_.end(), size, alignment);
}

void TextRewriter::keep(const uint8_t* from, const uint8_t* to) {
    if (tracked_ && (from != next_ || to > end_)) {
        while (from < to) {
            const uint32_t size = character_at(from, to).size;
            align(size, 0);
            out_.append(reinterpret_cast<const char*>(from), size);
            from += size;
        }
        return;
    }
    out_.append(reinterpret_cast<const char*>(from), size_t(to - from));
    if (!tracked_) return;
    const Alignment* old = text_->alignments.data();
    alignments_.insert(alignments_.end(), old + (from - begin_), old + (to - begin_));
    next_ = to;
}

void TextRewriter::drop(const uint8_t* from, const uint8_t* to) {
    if (!tracked_) return;
    if (from == next_ && to <= end_) {
        next_ = to;
        return;
    }
    size_t characters = 0;
    for (; from < to; from += character_at(from, to).size) ++characters;
    advance(characters);
}

void TextRewriter::drop(size_t characters) {
    if (tracked_) advance(characters);
}

void TextRewriter::finish() {
    const size_t rest = size_t(end_ - begin_);
    out_.append(text_->text, rest, std::string::npos);
    if (tracked_) {
        alignments_.insert(alignments_.end(), text_->alignments.begin() + ptrdiff_t(rest), text_->alignments.end());
        text_->alignments.swap(alignments_);
    }
    text_->text.swap(out_);
    if (borrowed_) {
        text_->aligned = true;
        text_->unplaced = unplaced_bytes(*text_);
        text_->aligned = false;
        text_->alignments.clear();
        borrowed_ = false;
    }
}

}  // namespace crayon
