#include "crayon/json/model_text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "crayon/json/json.h"
#include "json/model_writer.h"

namespace crayon::json {
namespace {

// Tells whether a string occurred before. Compares 64-bit hashes, so it may rarely take two strings for one.
class Seen {
  public:
    explicit Seen(size_t n) {
        size_t size = 64;
        while (size < 2 * n) size *= 2;
        places_.resize(size);
    }

    bool add(uint64_t hash) {
        if (hash == 0) hash = 1;
        for (size_t i = hash & (places_.size() - 1);; i = (i + 1) & (places_.size() - 1)) {
            if (places_[i] == hash) return false;
            if (places_[i] == 0) {
                places_[i] = hash;
                return true;
            }
        }
    }

  private:
    std::vector<uint64_t> places_;  // 0: free
};

uint64_t hash_of(std::string_view text) {
    return std::hash<std::string_view>()(text) * 0x9E3779B97F4A7C15u;
}

bool write_by_id(const Items<Value::Member>& vocab, ModelWriter& out) {
    std::vector<std::pair<int64_t, std::string_view>> tokens;
    tokens.reserve(vocab.size());
    Seen seen(vocab.size());
    for (const auto& [token, id] : vocab) {
        if (id.type() != Value::Type::integer || !seen.add(hash_of(token))) return false;
        tokens.emplace_back(id.as_integer("an id"), token);
    }
    const auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(tokens.begin(), tokens.end(), by_id)) std::sort(tokens.begin(), tokens.end(), by_id);
    out.begin('{');
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (i != 0 && tokens[i].first == tokens[i - 1].first) return false;
        out.token(tokens[i].second, tokens[i].first);
    }
    return true;
}

// Writes the merges. A merge is two strings, or one string with one space. A string that begins like the version line
// of a merges.txt is not a merge.
bool write_merges(const Items<Value>& merges, ModelWriter& out) {
    Seen seen(merges.size());
    out.begin('[');
    for (size_t i = 0; i < merges.size(); ++i) {
        std::string_view first, second;
        if (merges[i].is_string()) {
            const std::string_view text = merges[i].as_string("a merge");
            const size_t space = text.find(' ');
            if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) return false;
            if (text.substr(0, 8) == "#version") return false;
            first = text.substr(0, space);
            second = text.substr(space + 1);
        } else {
            if (!merges[i].is_array()) return false;
            const Items<Value> parts = merges[i].as_array("a merge");
            if (parts.size() != 2 || !parts[0].is_string() || !parts[1].is_string()) return false;
            first = parts[0].as_string("a merge");
            second = parts[1].as_string("a merge");
        }
        if (!seen.add(hash_of(first) * 31 + hash_of(second))) return false;
        out.merge(first, second);
    }
    return true;
}

bool write_scores(const Items<Value>& vocab, ModelWriter& out) {
    out.begin('[');
    for (size_t i = 0; i < vocab.size(); ++i) {
        if (!vocab[i].is_array()) return false;
        const Items<Value> entry = vocab[i].as_array("an entry");
        if (entry.size() != 2 || !entry[0].is_string()) return false;
        const Value::Type type = entry[1].type();
        if (type != Value::Type::integer && type != Value::Type::large && type != Value::Type::number) return false;
        out.piece(entry[0].as_string("a token"), entry[1].as_number("a score"));
    }
    return true;
}

}  // namespace

std::optional<ModelText> model_text(std::string_view tokenizer_json, bool pretty) {
    const Document document = parse(tokenizer_json);
    const Value* const model = document.root.find("model");
    const Value* const vocab = model == nullptr ? nullptr : model->find("vocab");
    if (vocab == nullptr) return std::nullopt;
    ModelText text;
    ModelWriter out(pretty, tokenizer_json.size() / 2);
    if (vocab->is_array() ? !write_scores(vocab->as_array("vocab"), out)
                          : !vocab->is_object() || !write_by_id(vocab->as_object("vocab"), out))
        return std::nullopt;
    text.vocab = out.end(vocab->is_array() ? ']' : '}');
    if (const Value* const merges = model->find("merges")) {
        ModelWriter list(pretty, tokenizer_json.size() / 2);
        if (!merges->is_array() || !write_merges(merges->as_array("merges"), list)) return std::nullopt;
        text.merges = list.end(']');
    }
    return text;
}

}  // namespace crayon::json
