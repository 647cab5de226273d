#include "budgets/text_parts.h"

namespace crayon {

PartEncoder::PartEncoder(const Engine& engine, bool special_as_text) : engine_(engine), lease_(engine) {
    options_.add_special_tokens = false;
    options_.special_as_text = special_as_text;
}

void PartEncoder::encode(const TextView& text, size_t from, size_t to, bool continues, IdBuffer* out) {
    engine_.encode_ids(reader_.read(text, from, to), options_, *lease_, out, {!continues, true});
}

size_t PartEncoder::count(const TextView& text, size_t from, size_t to, bool continues) {
    ids_.clear();
    encode(text, from, to, continues, &ids_);
    return ids_.size();
}

std::vector<Offset> PartEncoder::ranges(const TextView& text, size_t from, size_t to, bool continues) {
    return engine_.encode_part(reader_.read(text, from, to), options_, continues, *lease_).encoding.offsets;
}

}  // namespace crayon
