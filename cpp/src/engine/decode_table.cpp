#include "engine/decode_table.h"

#include <cstring>

#include "decoders/fast_decode.h"
#include "decoders/text_block.h"

namespace crayon {

DecodeTable::DecodeTable(const Cartridge& cartridge, const Vocabulary& vocabulary, const Decoder* decoder)
    : entries_(vocabulary.n_ids()) {
    const uint32_t* const offsets = cartridge.token_offsets.data;
    const Bytes all(cartridge.token_bytes);
    std::string text;
    TextBlock block(&text);
    const std::unique_ptr<TokenJoiner> joiner = decoder != nullptr ? decoder->joiner() : nullptr;
    if (joiner != nullptr) {  // the first token of a text may add another text than later ones, or add it later
        joiner->add(Bytes(std::string_view("first")), 5, &block);
        joiner->finish(&block);
    }
    for (size_t id = 0; id < entries_.size(); ++id) {
        Entry& entry = entries_[id];
        entry.size = kOther;
        if (!vocabulary.is_ordinary(uint32_t(id))) continue;
        const Bytes token = all.slice(offsets[id], offsets[id + 1]);
        if (joiner == nullptr) {
            entry = entry_of(token);
            continue;
        }
        const int byte = joiner->byte_of(token);
        if (byte >= 0) {
            entry.bytes[0] = uint8_t(byte);
            entry.size = kByte;
            continue;
        }
        block.flush();
        text.clear();
        joiner->add(token, token.size, &block);
        block.flush();
        entry = entry_of(text);
    }
}

DecodeTable::Entry DecodeTable::entry_of(Bytes text) {
    Entry entry{};
    entry.size = text.size <= kMost ? uint8_t(text.size) : uint8_t(kLong);
    if (entry.size != kLong) {
        if (text.size != 0) std::memcpy(entry.bytes, text.data, text.size);
        return entry;
    }
    const uint64_t place = long_.size();
    const auto size = uint32_t(text.size);
    std::memcpy(entry.bytes, &place, sizeof place);
    std::memcpy(entry.bytes + sizeof place, &size, sizeof size);
    long_.append(text.view());
    return entry;
}

Bytes DecodeTable::long_text(const Entry& entry) const {
    uint64_t place;
    uint32_t size;
    std::memcpy(&place, entry.bytes, sizeof place);
    std::memcpy(&size, entry.bytes + sizeof place, sizeof size);
    return Bytes(long_).slice(place, place + size);
}

}  // namespace crayon
