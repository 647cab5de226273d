#include "crayon/engine.h"

#include <algorithm>
#include <limits>

#include "byte_level.h"
#include "crayon/error.h"
#include "crayon/unicode.h"
#include "engine_parts.h"
#include "post_program.h"
#include "text_walk.h"

namespace crayon {

Engine::Engine(std::shared_ptr<const Storage> storage, bool verify) : cartridge_(std::move(storage)) {
    if (verify) verify_cartridge(cartridge_);
    const Program& program = cartridge_.program();
    if (program.family >= kFamilyCount || program.flavor >= kFlavorCount ||
        program.normalizer > uint32_t(NormalizerKind::nfc))
        throw Error(ErrorKind::cartridge,
                    "the program names a family, a flavor or a normalizer that is not known here");
    parts_ = std::make_unique<Parts>();
    Parts& p = *parts_;
    p.merges = MergeTables::of(cartridge_);
    p.level = selected_cpu_level();
    p.scan = find_scanner(Family(program.family), Flavor(program.flavor), p.level);
    p.added = AddedMatcher(cartridge_.added_trie, cartridge_.added_tokens);
    p.added_normalized = AddedMatcher(cartridge_.added_trie_normalized, cartridge_.added_tokens);
    p.post_processor = read_post_program(cartridge_.post_processor, program.n_ids);
    p.trim = {cartridge_.token_trim.data, cartridge_.token_trim.data + program.n_ids};
    p.framed = single_special_ids(p.post_processor, &p.prefix, &p.suffix);
    p.ignore_merges = program.flags & kIgnoreMerges;
    p.add_prefix_space = program.flags & kAddPrefixSpace;
    p.normalizer = NormalizerKind(program.normalizer);
}

Engine::~Engine() = default;

std::shared_ptr<const Engine> Engine::open(const std::string& path, bool verify) {
    const auto storage = map_file(path);
    try {
        return std::shared_ptr<const Engine>(new Engine(storage, verify));
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::cartridge) throw;
        throw Error(ErrorKind::cartridge, path + ": " + error.what());
    }
}

std::shared_ptr<const Engine> Engine::from_bytes(Bytes cartridge) {
    return std::shared_ptr<const Engine>(new Engine(own_bytes(cartridge), true));
}

Engine::Lease::Lease(const Engine& engine) : engine_(engine), scratch_(engine.parts_->pool.take()) {}
Engine::Lease::~Lease() {
    engine_.parts_->pool.give(std::move(scratch_));
}

void Engine::encode_ids(Bytes text, const EncodeOptions& options, Scratch& scratch, IdBuffer* out) const {
    const Parts& p = *parts_;
    if (!p.framed) {
        const Encoding whole = encode({{text}, false}, nullptr, options, scratch);
        out->append(whole.ids.data(), whole.ids.size());
        return;
    }
    const bool frame = options.add_special_tokens;
    if (frame) out->append(p.prefix.data(), p.prefix.size());
    const SegmentTables tables{cartridge_, p.merges, p.scan};
    walk_text(
        p, cartridge_, text, options.special_as_text, false, scratch,
        [&](uint32_t id, const Place&) { out->push(int32_t(id)); },
        [&](Bytes segment, const Place&) { encode_segment(tables, segment, scratch, out, nullptr); });
    if (frame) out->append(p.suffix.data(), p.suffix.size());
}

void Engine::encode_raw(Bytes data, Scratch& scratch, IdBuffer* out) const {
    encode_segment({cartridge_, parts_->merges, parts_->scan}, data, scratch, out, nullptr);
}

void Engine::merge_pretoken(Bytes pretoken, MergeWay way, Scratch& scratch, IdBuffer* out) const {
    if (pretoken.empty()) return;
    if (way == MergeWay::short_arrays && pretoken.size > Merger::kShort)
        throw Error(ErrorKind::argument, "short arrays merge at most " + std::to_string(Merger::kShort) + " bytes");
    out->reserve_more(pretoken.size);
    uint32_t* const to = reinterpret_cast<uint32_t*>(out->end());
    Merger& merger = scratch.merger;
    const MergeTables& tables = parts_->merges;
    switch (way) {
        case MergeWay::usual:
            return out->advance(merger.merge(tables, pretoken, to));
        case MergeWay::short_arrays:
            return out->advance(merger.merge_short(tables, pretoken, to));
        case MergeWay::sweeps:
            return out->advance(merger.merge_sweeps(tables, pretoken, to));
        case MergeWay::heap:
            return out->advance(merger.merge_heap(tables, pretoken, to));
    }
}

void Engine::decode(Array<int64_t> ids, bool skip_special_tokens, std::string* out) const {
    for (const int64_t id : ids) {
        if (!has_id(id))
            throw Error(ErrorKind::token_id, "id " + std::to_string(id) + " is not in the vocabulary of " +
                                                 std::to_string(cartridge_.program().vocab_size) + " tokens");
        if (skip_special_tokens && (cartridge_.token_flags[size_t(id)] & kSpecial)) continue;
        out->append(id_to_bytes(uint32_t(id)).view());
    }
}

bool Engine::has_id(int64_t id) const {
    return id >= 0 && id < int64_t(cartridge_.program().n_ids) && (cartridge_.token_flags[size_t(id)] & kPresent);
}

std::string Engine::id_to_token(uint32_t id) const {
    const Bytes bytes = id_to_bytes(id);
    return cartridge_.token_flags[id] & kRaw ? std::string(bytes.view()) : to_byte_level(bytes);
}

int64_t Engine::token_to_id(std::string_view token) const {
    std::string bytes;
    const bool raw = token.empty() || !from_byte_level(token, &bytes);
    if (!raw) {
        const int32_t id = cartridge_.trie.find(bytes);
        if (id >= 0) return id;
    }
    // Not of the model: a string that no bytes spell, or an added token.
    const auto& raws = cartridge_.raw_tokens;
    const auto found = std::lower_bound(raws.begin(), raws.end(), token,
                                        [&](uint32_t id, std::string_view t) { return id_to_bytes(id).view() < t; });
    if (raw && found != raws.end() && id_to_bytes(*found).view() == token) return *found;
    if (!raw)
        for (const AddedToken& added : cartridge_.added_tokens)
            if (!(cartridge_.token_flags[added.id] & kRaw) && id_to_bytes(added.id).view() == bytes) return added.id;
    return -1;
}

std::vector<std::pair<std::string, uint32_t>> Engine::vocabulary(bool with_added) const {
    std::vector<std::pair<std::string, uint32_t>> out;
    const uint8_t wanted = with_added ? kPresent : kModel;
    for (uint32_t id = 0; id < cartridge_.program().n_ids; ++id)
        if (cartridge_.token_flags[id] & wanted) out.emplace_back(id_to_token(id), id);
    return out;
}

size_t Engine::special_tokens_added(bool is_pair) const {
    return count_added_tokens(parts_->post_processor, is_pair);
}

const char* Engine::cpu_level() const {
    return cpu_level_name(parts_->level);
}

}  // namespace crayon
