#include "vocabulary_upload.h"

#include <algorithm>

#include "crayon/json/json.h"
#include "crayon/normalizers/normalize.h"
#include "engine/engine_impl.h"
#include "planes.h"

namespace crayon {

namespace gpu {
namespace {

constexpr uint32_t kCodePoints = 0x110000;
constexpr size_t kStepsForEach = 64, kStepsForAny = 4096;  // limits of trie steps in are_plain

bool is_nfc(const Engine& engine) {
    const json::Document components = json::parse(engine.components());
    const json::Value* const normalizer = components.root.find("normalizer");
    const json::Value* const type = normalizer != nullptr ? normalizer->find("type") : nullptr;
    return type != nullptr && type->is_string() && type->as_string("type") == "NFC";
}

// Returns the contents of added tokens as texts have them, with their ids.
std::vector<std::pair<std::string, int32_t>> added_contents(const Engine& engine) {
    const crayon::Vocabulary& vocabulary = *engine.impl().vocabulary;
    std::vector<std::pair<std::string, int32_t>> contents;
    for (const AddedToken& token : vocabulary.added())
        contents.emplace_back(
            token.flags & kNormalized ? vocabulary.text_of(token.id) : vocabulary.content_of(token.id),
            int32_t(token.id));
    return contents;
}

// Whether every longest match of an added token's content is that token, wherever it is in the text. True if no token
// has conditions and no two can overlap, so that the order of search does not matter. Returns false if the proof takes
// too long.
bool are_plain(const Engine& engine, const std::vector<std::pair<std::string, int32_t>>& contents,
               const DoubleArrayView& trie) {
    bool some_normalized = false, some_not = false;
    for (const AddedToken& token : engine.impl().vocabulary->added()) {
        if (token.flags & (kSingleWord | kLstrip | kRstrip)) return false;
        (token.flags & kNormalized ? some_normalized : some_not) = true;
    }
    size_t steps_left = kStepsForAny;
    for (const auto& content : contents) steps_left += kStepsForEach * content.first.size();
    for (const auto& content : contents) {
        // If two tokens are at the same place, one that is searched in the original text comes first, even if it is
        // shorter.
        for (size_t from = some_normalized && some_not ? 0 : 1; from < content.first.size(); ++from) {
            int32_t node = 0;
            size_t at = from;
            for (; at < content.first.size(); ++at) {
                if (steps_left-- == 0) return false;
                node = trie.step(node, uint8_t(content.first[at]));
                if (node < 0) break;
                if (trie.values[node] >= 0 && (from > 0 || at + 1 < content.first.size())) return false;
            }
            if (node >= 0 && from > 0) return false;  // the content's remaining bytes begin another token
        }
    }
    return true;
}

}  // namespace

std::array<uint8_t, 256> byte_flags() {
    std::array<uint8_t, 256> flags;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        flags[byte] = byte < 0x80 ? uint8_t(class_entry(byte) & kClassMask) : kNotAsciiFlag;
        if (byte == ' ') flags[byte] |= kBlankFlag;
        if (byte == '\'') flags[byte] |= kQuoteFlag;
        if (byte == '/') flags[byte] |= kSlashFlag;
    }
    return flags;
}

std::string why_unsupported(const Engine& engine) {
    const Engine::Impl& p = engine.impl();
    if (!p.on_bytes()) return "its model works on text, not on bytes";
    if (p.pipeline.matches && engine.cartridge().program().max_token_bytes > kLongestToken)
        return "it has tokens of more than " + std::to_string(kLongestToken) + " bytes";
    // A kernel walks the trie from each place where an added token may begin.
    for (const auto& content : added_contents(engine))
        if (content.first.size() > kLongestToken)
            return "it has added tokens of more than " + std::to_string(kLongestToken) + " bytes";
    if (!engine.family()) return "its pre-tokenizer is not a published pattern";
    if (p.pipeline.add_prefix_space) return "its pre-tokenizer puts a space in front of texts";
    if (p.pipeline.normalizer != nullptr && !is_nfc(engine)) return "its normalizer is not NFC";
    if (!p.surrounds[0]) return "its post-processor does more than put special ids around a text";
    return "";
}

template <typename T>
const T* Vocabulary::upload(const T* data, size_t count) {
    if (count == 0) return nullptr;  // this vocabulary lacks the table
    buffers_.emplace_back(pool_);
    Device& device = pool_->device();
    uint8_t* const memory = buffers_.back().make_room(count * sizeof(T));
    const Settled on_its_way(&device, stream_);  // the upload reads host memory that is freed now
    check(device, device.to_device(memory, data, count * sizeof(T), stream_), "copying a vocabulary");
    check(device, device.wait(stream_), "copying a vocabulary");
    return reinterpret_cast<const T*>(memory);
}

Vocabulary::Vocabulary(const Engine& engine, const PoolPtr& pool, Stream stream) : pool_(pool), stream_(stream) {
    const Cartridge& c = engine.cartridge();
    const auto upload_all = [&](const auto& array) { return upload(array.data, array.size); };
    const auto upload_trie = [&](const DoubleArrayView& trie) -> DoubleArrayView {
        return {upload(trie.base, trie.size), upload(trie.check, trie.size), upload(trie.values, trie.size), trie.size};
    };
    Tables& t = tables_;
    t.class_index = upload(kClassIndex, sizeof kClassIndex);
    t.class_blocks = upload(&kClassBlocks[0][0], sizeof kClassBlocks);
    t.words = upload_all(c.word_table);
    t.word_bucket_mask = c.word_table.size / 2 - 1;
    t.byte_ids = upload_all(c.byte_ids);
    t.byte_pair_ranks = upload_all(c.byte_pair_ranks);
    t.products = upload_all(c.merge_products);
    t.pair_filter = upload_all(c.pair_filter);
    t.pair_slots = upload_all(c.pair_table);
    const MergeTables& merges = engine.impl().merges;
    if (merges.has_reachable()) {
        t.reachable_pilots = upload_all(c.reachable_pilots);
        t.reachable_slots = upload_all(c.reachable_slots);
        t.reachable_pilot_shift = merges.reachable_pilot_shift;
        t.reachable_slot_shift = merges.reachable_slot_shift;
    }
    t.filter_shift = merges.filter_shift;
    t.pair_mask = merges.slot_mask;
    t.pair_shift = merges.slot_shift;
    t.trie = upload_trie(c.trie);
    t.max_token_bytes = c.program().max_token_bytes;
    t.token_flags = upload_all(c.token_flags);

    const auto contents = added_contents(engine);
    std::array<uint8_t, 256> flags = byte_flags();
    DoubleArray trie;
    bool is_plain = true;
    if (!contents.empty()) {
        std::vector<std::pair<std::string_view, int32_t>> keys(contents.begin(), contents.end());
        sort_keys(&keys);
        const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
        keys.erase(std::unique(keys.begin(), keys.end(), same), keys.end());
        is_plain = keys.size() == contents.size();
        trie = build_double_array(keys);
        t.added = upload_trie(view_of(trie));
        for (const auto& key : keys) flags[uint8_t(key.first[0])] |= kAddedFlag;
    }
    t.byte_flags = upload(flags.data(), flags.size());
    t.added_is_plain = is_plain && are_plain(engine, contents, view_of(trie));
    const Engine::Impl& impl = engine.impl();
    t.unknown_first = impl.unknown.first;
    t.unknown_id = impl.unknown.id;
    t.longest_match = impl.pipeline.matches;
    if (t.longest_match) {
        std::vector<uint32_t> never(c.program().n_ids / 32 + 1);
        for (uint32_t id = 0; id < c.program().n_ids; ++id)
            never[id / 32] |= uint32_t(impl.pipeline.match.is_never(int32_t(id))) << (id % 32);
        t.never = upload(never.data(), never.size());
        t.never_words = uint32_t(never.size());
    }
    if (impl.pipeline.normalizer != nullptr) {
        std::vector<uint32_t> stable(kCodePoints / 32);
        for (uint32_t c = 0; c < kCodePoints; ++c) stable[c / 32] |= uint32_t(is_stable_in_nfc(c)) << (c % 32);
        t.stable_chars = upload(stable.data(), stable.size());
    }
}

}  // namespace gpu
}  // namespace crayon
