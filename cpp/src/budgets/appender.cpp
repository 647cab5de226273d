#include "crayon/budgets/appender.h"

#include <algorithm>
#include <iterator>

#include "budgets/text_parts.h"
#include "crayon/support/error.h"
#include "crayon/support/interrupt.h"

namespace crayon {
namespace {

// The size at which a part of the text ends at the next seam. A change at the end re-encodes up to twice as much.
constexpr size_t kPartBytes = 128;

bool begins_character(char byte) {
    return (uint8_t(byte) & 0xC0) != 0x80;
}

template <typename Before, typename After>
size_t equal_ids(Before a, Before a_end, After b, After b_end) {
    return size_t(std::mismatch(a, a_end, b, b_end).first - a);
}

}  // namespace

Appender::Appender(std::shared_ptr<const Engine> engine, bool special_as_text)
    : engine_(std::move(engine)), special_as_text_(special_as_text), seams_(engine_->seams(special_as_text)) {
    if (engine_->is_random())
        throw Error(ErrorKind::unsupported, "the model has dropout, so the number of tokens of a text varies");
}

// Searches seams only in `text`, so that the seams do not depend on earlier text.
Appender::Parts Appender::parts_of(const std::string& text, bool continues) const {
    Parts parts;
    const TextView view{text.data(), text.size(), 0};
    PartEncoder encoder(*engine_, special_as_text_);
    SeamFinder cutter(seams_, view);
    InterruptWatch interrupts;
    IdBuffer ids;
    while (!cutter.is_done()) {
        const size_t from = cutter.done(), to = cutter.next(kPartBytes);
        ids.clear();
        encoder.encode(view, from, to, continues || from > 0, &ids);
        SeamText part{text.substr(from, to - from), 0, {ids.data(), ids.data() + ids.size()}};
        part.characters = size_t(std::count_if(part.text.begin(), part.text.end(), begins_character));
        parts.push_back(std::move(part));
        interrupts.look_now_and_then();
    }
    return parts;
}

void Appender::add(const SeamText& part) {
    count_ += part.ids.size();
    characters_ += part.characters;
}

void Appender::subtract(const SeamText& part) {
    count_ -= part.ids.size();
    characters_ -= part.characters;
}

// Replaces the last `n` parts by parts of `text`.
size_t Appender::replace_last(size_t n, const std::string& text) {
    Parts parts = parts_of(text, parts_.size() > n);
    std::vector<int32_t> before, after;
    for (size_t i = parts_.size() - n; i < parts_.size(); ++i)
        before.insert(before.end(), parts_[i].ids.begin(), parts_[i].ids.end());
    for (const SeamText& part : parts) after.insert(after.end(), part.ids.begin(), part.ids.end());
    for (; n > 0; --n) {
        subtract(parts_.back());
        parts_.pop_back();
    }
    const size_t same = count_ + equal_ids(before.begin(), before.end(), after.begin(), after.end());
    for (SeamText& part : parts) {
        add(part);
        parts_.push_back(std::move(part));
    }
    return same;
}

size_t Appender::append(std::string_view text) {
    if (parts_.empty()) return replace_last(0, std::string(text));
    return replace_last(1, parts_.back().text + std::string(text));
}

size_t Appender::prepend(std::string_view text) {
    if (parts_.empty()) return replace_last(0, std::string(text));
    Parts parts = parts_of(std::string(text) + parts_.front().text, false);
    std::vector<int32_t> after;
    for (const SeamText& part : parts) after.insert(after.end(), part.ids.begin(), part.ids.end());
    const std::vector<int32_t> before = std::move(parts_.front().ids);
    count_ -= before.size();
    characters_ -= parts_.front().characters;
    parts_.pop_front();
    const size_t same = count_ + equal_ids(before.rbegin(), before.rend(), after.rbegin(), after.rend());
    for (size_t i = parts.size(); i-- > 0;) {
        add(parts[i]);
        parts_.push_front(std::move(parts[i]));
    }
    return same;
}

size_t Appender::pop(size_t characters) {
    if (characters > characters_)
        throw Error(ErrorKind::argument, "cannot remove " + std::to_string(characters) + " characters: the text has " +
                                             std::to_string(characters_));
    // The parts that lose characters, and the ones before them whose seam would be too near the new end.
    size_t n = 0, left = 0;
    for (size_t removed = 0; n < parts_.size() && (n == 0 || removed < characters || left <= kSeamAfter); ++n) {
        const size_t size = parts_[parts_.size() - 1 - n].characters;
        const size_t now = std::min(size, characters - removed);
        removed += now;
        left += size - now;
    }
    std::string text;
    for (size_t i = parts_.size() - n; i < parts_.size(); ++i) text += parts_[i].text;
    size_t end = text.size();
    for (; characters > 0; --characters)
        while (!begins_character(text[--end])) continue;
    text.resize(end);
    return replace_last(n, text);
}

std::string Appender::text() const {
    std::string text;
    for (const SeamText& part : parts_) text += part.text;
    return text;
}

void Appender::ids_from(size_t start, IdBuffer* out) const {
    size_t n = parts_.size(), before = count_;
    while (n > 0 && before > start) before -= parts_[--n].ids.size();
    for (size_t skipped = start - before; n < parts_.size(); ++n, skipped = 0) {
        const std::vector<int32_t>& ids = parts_[n].ids;
        out->append(ids.data() + skipped, ids.size() - skipped);
    }
}

}  // namespace crayon
