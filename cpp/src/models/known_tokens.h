// Caches the tokens of words in WordIds (encode/memo/word_ids.h), which caches numbers: packs each token's id and size
// into a number.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "crayon/models/models.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "encode/memo/word_ids.h"

namespace crayon {

// | 31       | 30                              | 29 to 21 | 20 to 0 |
// | own_text | begins where the one before does | size     | id      |
constexpr uint32_t kSharedBit = 30, kOwnBit = 31;
static_assert(Memo::kLongest >> (kSharedBit - kIdBits) == 0, "sizes fit");

// Appends the tokens of up to WordIds::kBlock words of `text`. The first token begins at `start`, each later one where
// the token before it ends, or where that token begins (kSharedBit). `make(word, tokens)` appends the tokens of a word
// that is not cached, with offsets in the word. With `ends`, each word begins at 0, and ends[i] is set to the number of
// tokens after word i. Returns where the last token ends.
template <typename Make>
uint32_t add_known_tokens(Bytes text, const Piece* words, size_t n, uint32_t start, ModelScratch& s,
                          std::vector<ModelToken>* out, const Make& make, size_t* ends = nullptr) {
    const auto pack = [&](Bytes word, IdBuffer* numbers) {
        const size_t before = out->size();
        make(word, out);
        uint32_t at = 0;
        for (auto token = out->begin() + ptrdiff_t(before); token != out->end(); ++token) {
            const bool shares = token->start != at;
            assert(!shares || token->start == (token - 1)->start);
            at = token->end;
            numbers->push(int32_t(token->id | (token->end - token->start) << kIdBits | uint32_t(shares) << kSharedBit |
                                  uint32_t(token->own_text) << kOwnBit));
        }
        out->resize(before);
    };
    s.numbers.clear();
    size_t counts[WordIds::kBlock];
    s.packed().encode(text, n, PieceWords{words}, WordMaker{pack}, &s.numbers,
                      [&](size_t i, size_t count) { counts[i] = count; });
    uint32_t end = start;
    const int32_t* next = s.numbers.data();
    for (size_t i = 0; i < n; ++i) {
        if (ends != nullptr) start = end = 0;
        for (size_t k = 0; k < counts[i]; ++k) {
            const auto number = uint32_t(*next++);
            if ((number >> kSharedBit & 1) == 0) start = end;
            end = start + (number >> kIdBits & ((1u << (kSharedBit - kIdBits)) - 1));
            out->push_back({number & kMaxIds, start, end, bool(number >> kOwnBit)});
        }
        if (ends != nullptr) ends[i] = out->size();
    }
    return end;
}

}  // namespace crayon
