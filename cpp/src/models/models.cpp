#include "crayon/models/models.h"

#include <algorithm>

#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/error.h"
#include "encode/memo/word_ids.h"
#include "models/known_tokens.h"
#include "models/model_common.h"

namespace crayon {

ModelScratch::ModelScratch() = default;
ModelScratch::~ModelScratch() = default;

void ModelScratch::trim() {
    constexpr size_t kKeep = size_t(1) << 16;
    if (tokens.capacity() > kKeep) std::vector<ModelToken>().swap(tokens);
    if (spelled.capacity() > kKeep) std::string().swap(spelled);
    numbers.trim(kKeep);
}

size_t ModelScratch::bytes() const {
    size_t bytes = tokens.capacity() * sizeof(ModelToken) + spelled.capacity() + numbers.capacity() * sizeof(int32_t);
    for (const auto& known : known_)
        if (known != nullptr) bytes += known->bytes();
    return bytes;
}

void ModelScratch::rest() {
    for (const auto& known : known_)
        if (known != nullptr) known->rest();
}

WordIds& ModelScratch::known(size_t which) {
    std::unique_ptr<WordIds>& known = known_[which];
    if (known == nullptr) known = std::make_unique<WordIds>(kernels->words, memos == nullptr ? nullptr : memos + which);
    return *known;
}

void Model::tokenize_all(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, std::vector<ModelToken>* out,
                         size_t* ends) const {
    const auto make = [&](Bytes word, std::vector<ModelToken>* tokens) { tokenize(word, scratch, tokens); };
    const bool knows = knows_tokens();
    for (size_t i = 0; i < n;) {
        size_t few = i;
        while (knows && few < n && few - i < WordIds::kBlock && pieces[few].end - pieces[few].start <= Memo::kLongest)
            ++few;
        if (few > i) {
            add_known_tokens(text, pieces + i, few - i, 0, *scratch, out, make, ends + i);
            i = few;
        } else {
            make(text.slice(pieces[i].start, pieces[i].end), out);
            ends[i++] = out->size();
        }
    }
}

void Model::encode_piece(Bytes piece, ModelScratch* scratch, IdBuffer* out) const {
    scratch->tokens.clear();
    tokenize(piece, scratch, &scratch->tokens);
    out->reserve_more(scratch->tokens.size());
    int32_t* to = out->end();
    for (const ModelToken& token : scratch->tokens) *to++ = int32_t(token.id);
    out->advance(scratch->tokens.size());
}

void Model::encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const {
    const auto make = [&](Bytes piece, IdBuffer* ids) { encode_piece(piece, scratch, ids); };
    scratch->plain().encode(text, pieces, n, WordMaker{make}, out);
}

void Model::encode_words(Bytes text, const Piece* words, size_t n, ModelScratch* scratch, IdBuffer* out) const {
    const auto make = [&](Bytes word, IdBuffer* ids) {
        std::string& spelled = scratch->spelled;
        const std::string_view view = word.view();
        spelled.assign(view.substr(0, kSpaceMark.size()) == kSpaceMark ? std::string_view() : kSpaceMark);
        spelled.append(view);
        for (size_t start = 0; start < spelled.size();) {
            const size_t end = std::min(spelled.find(kSpaceMark, start + 1), spelled.size());
            encode_piece(Bytes(spelled).slice(start, end), scratch, ids);
            start = end;
        }
    };
    scratch->marked().encode(text, words, n, WordMaker{make}, out);
}

bool Model::encode_spaced(Bytes, bool, ModelScratch*, IdBuffer*) const {
    return false;
}

std::string byte_token(uint8_t b) {
    const char* const digits = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
}

uint32_t find_model_token(const Cartridge& cartridge, std::string_view token) {
    if (!token.empty()) {
        const int32_t id = cartridge.trie.find(token);
        return id >= 0 ? uint32_t(id) : kNoId;
    }
    uint32_t found = kNoId;  // of tokens with equal strings, which only a Unigram model can have, the last one's id
    for (uint32_t id = 0; id < cartridge.program().n_ids; ++id)
        if ((cartridge.token_flags[id] & kModel) && cartridge.bytes_of(id).empty()) found = id;
    return found;
}

int32_t walk(const DoubleArrayView& trie, std::string_view prefix) {
    int32_t node = trie.size > 0 ? 0 : -1;
    for (const uint8_t byte : Bytes(prefix))
        if (node >= 0) node = trie.step(node, byte);
    return node;
}

uint32_t checked_size(Bytes piece) {
    if (piece.size >= kNoId) throw Error(ErrorKind::argument, "a piece of 4 GiB or more cannot be tokenized");
    return uint32_t(piece.size);
}

ModelOptions read_typed_options(const json::Value& model) {
    const std::optional<ModelType> type = read_model_type(model);
    if (!type) throw Error(ErrorKind::vocabulary, "the model has no type");
    return read_model_options(model, *type);
}

std::unique_ptr<Model> make_model(const json::Value& options, const Cartridge& cartridge, const Kernels& kernels) {
    const ModelOptions read = read_typed_options(options);
    switch (read.type) {
        case ModelType::bpe:
            return make_bpe(read, cartridge, kernels);
        case ModelType::word_piece:
            return make_word_piece(read, cartridge);
        case ModelType::word_level:
            return make_word_level(read, cartridge);
        default:
            return make_unigram(read, cartridge);
    }
}

}  // namespace crayon
