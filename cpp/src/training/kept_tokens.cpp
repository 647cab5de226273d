#include "crayon/training/kept_tokens.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "crayon/support/error.h"
#include "encode/merger/merge.h"
#include "engine/engine_impl.h"
#include "models/model_common.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

// The last merge when a token's own symbols are merged.
struct LastMerge {
    static constexpr uint32_t kSymbol = 0, kNone = ~uint32_t(0);

    uint32_t left = kNoId, right = kNoId;
    uint32_t order = kNone;  // 1 + rank; kSymbol for a single symbol; kNone if no merge makes the token
};

class TokenParts {
  public:
    TokenParts(const Engine& engine, const KeptTokensOptions& options)
        : cartridge_(engine.cartridge()),
          tables_(MergeTables::of(cartridge_)),
          prefix_(options.continuing_subword_prefix),
          suffix_(options.end_of_word_suffix),
          pairs_(tables_.n_merges) {
        for (const uint64_t slot : cartridge_.pair_table)
            if (slot != kEmptyPair) pairs_[slot & kMaxMerges] = slot >> kRankBits;
    }

    LastMerge of(uint32_t id) {
        LastMerge last;
        if (!read_symbols(id)) return last;
        ids_.resize(symbols_.size());
        const size_t n = merger_.merge_whole(Symbols{tables_, symbols_.data(), symbols_.size()}, ids_.data());
        if (n == 1 && ids_[0] != id) return last;
        const uint32_t rank = merger_.last_rank();
        if (rank != kNoRank) {
            last.left = uint32_t(pairs_[rank] >> kIdBits);
            last.right = uint32_t(pairs_[rank]) & kMaxIds;
        }
        if (n == 1) last.order = symbols_.size() == 1 ? LastMerge::kSymbol : rank + 1;
        return last;
    }

  private:
    // Returns false if a character of the token has no symbol.
    bool read_symbols(uint32_t id) {
        symbols_.clear();
        const Bytes token = cartridge_.bytes_of(id);
        if (!cartridge_.has_text_tokens()) {
            for (const uint8_t byte : token) symbols_.push_back(cartridge_.byte_ids[byte]);
        } else {
            read_characters(token.view());
        }
        return !symbols_.empty() && std::find(symbols_.begin(), symbols_.end(), kNoId) == symbols_.end();
    }
    void read_characters(std::string_view token) {
        bool begins_word = true, ends_word = false;
        if (!prefix_.empty() && token.substr(0, prefix_.size()) == prefix_) {
            token.remove_prefix(prefix_.size());
            begins_word = false;
        }
        if (!suffix_.empty() && token.size() > suffix_.size() &&
            token.substr(token.size() - suffix_.size()) == suffix_) {
            token.remove_suffix(suffix_.size());
            ends_word = true;
        }
        const Bytes text(token);
        for (const uint8_t* p = text.begin(); p < text.end();) {
            const Character c = character_at(p, text.end());
            std::string symbol = begins_word && p == text.begin() ? "" : prefix_;
            symbol.append(reinterpret_cast<const char*>(p), c.size);
            p += c.size;
            if (ends_word && p == text.end()) symbol += suffix_;
            symbols_.push_back(find_model_token(cartridge_, symbol));
        }
    }

    const Cartridge& cartridge_;
    const MergeTables tables_;
    const std::string &prefix_, &suffix_;
    std::vector<uint64_t> pairs_;  // by rank
    std::vector<uint32_t> symbols_, ids_;
    Merger merger_;
};

class Keeper {
  public:
    explicit Keeper(const std::vector<LastMerge>& merges) : merges_(merges), kept_(merges.size(), 0) {}

    // Keeps a token and its parts, unless the total would exceed `most`.
    void keep(uint32_t id, size_t most) {
        added_.clear();
        visit(id);
        for (size_t i = 0; i < added_.size(); ++i) {
            const LastMerge& last = merges_[added_[i]];
            if (last.left == kNoId) continue;
            visit(last.left);
            visit(last.right);
        }
        if (count_ + added_.size() <= most) {
            count_ += added_.size();
            return;
        }
        for (const uint32_t other : added_) kept_[other] = 0;
    }
    size_t count() const { return count_; }
    std::vector<uint8_t> take() { return std::move(kept_); }

  private:
    void visit(uint32_t id) {
        if (kept_[id]) return;
        kept_[id] = 1;
        added_.push_back(id);
    }

    const std::vector<LastMerge>& merges_;
    std::vector<uint8_t> kept_;
    std::vector<uint32_t> added_;
    size_t count_ = 0;
};

}  // namespace

std::vector<uint8_t> kept_tokens(const Engine& engine, const KeptTokensOptions& options) {
    const size_t n = engine.cartridge().program().n_ids;
    if (engine.cartridge().pair_table.empty()) throw Error(ErrorKind::unsupported, "a model without merges");
    TokenParts parts(engine, options);
    std::vector<LastMerge> merges(n);
    std::vector<uint32_t> order;
    for (uint32_t id = 0; id < n; ++id) {
        if (!engine.has_id(id)) continue;
        merges[id] = parts.of(id);
        order.push_back(id);
    }
    const auto uses = [&](uint32_t id) { return id < options.uses.size() ? options.uses[id] : 0; };
    Keeper keeper(merges);
    for (const uint32_t id : options.required) {
        if (id >= n || !engine.has_id(id)) throw Error(ErrorKind::token_id, "no token has id " + std::to_string(id));
        keeper.keep(id, n);
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        if (uses(a) != uses(b)) return uses(a) > uses(b);
        return merges[a].order != merges[b].order ? merges[a].order < merges[b].order : a < b;
    });
    for (const uint32_t id : order) {
        if (!options.most && uses(id) == 0) break;
        if (options.most && keeper.count() >= *options.most) break;
        keeper.keep(id, options.most.value_or(n));
    }
    return keeper.take();
}

}  // namespace crayon
