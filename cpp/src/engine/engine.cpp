#include "crayon/engine/engine.h"

#include <algorithm>
#include <cstring>

#include "crayon/json/json.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "encode/cutter/seam_finder.h"
#include "engine/engine_impl.h"
#include "engine/scratch.h"
#include "engine/text_walk.h"
#include "json/model_writer.h"
#include "models/model_common.h"

namespace crayon {
namespace {

template <typename Added>
std::vector<uint32_t> special_ids(const Added& added) {
    std::vector<uint32_t> ids;
    for (const auto& token : added)
        if (token.flags & kSpecialToken) ids.push_back(token.id);
    return ids;
}

// Replaces unknown ids in `out`. The ids from index `from` on are the model's.
void map_unknown_ids(UnknownIds unknown, size_t from, IdBuffer* out) {
    if (unknown.first > kMaxIds) return;
    for (size_t i = from; i < out->size(); ++i) out->data()[i] = int32_t(unknown(uint32_t(out->data()[i])));
}

// Texts of more than kLargeText bytes are encoded in parts of kLargePart bytes, if they have seams.
constexpr size_t kLargeText = size_t(1) << 28;
constexpr size_t kLargePart = size_t(1) << 26;

// Encodes a text that is cut into words (Pipeline::words_to_mark), without writing U+2581 in front of each.
void encode_words(const Engine::Impl& p, Bytes text, Scratch& s, IdBuffer* out) {
    const uint32_t size = size_to_cut(text);
    PieceList& list = s.pieces;
    list.text.assign(text, false);
    list.pieces.assign(1, {0, size});
    p.pipeline.words_to_mark()->split(&list);
    p.pipeline.model->encode_words(text, list.pieces.data(), list.pieces.size(), s.model.get(), out);
}

// Returns the requirements that a text must fulfil to be cut, before its spaces become U+2581. Returns nothing if a
// space or U+2581 could fulfil a requirement, or if a requirement lists more than kMostBytes bytes.
std::optional<std::vector<Regex::Needed>> needed_to_cut(const PreTokenizer* pre_tokenizer) {
    constexpr size_t kMostBytes = 4;
    std::vector<Regex::Needed> all;
    if (pre_tokenizer != nullptr && !pre_tokenizer->add_needed(&all)) return std::nullopt;
    for (const Regex::Needed& needed : all) {
        const std::string& what = needed.text.empty() ? needed.bytes : needed.text;
        const bool has_space =
            what.find(' ') != std::string::npos || what.find_first_of(kSpaceMark) != std::string::npos;
        if (has_space || (!needed.at_start && needed.bytes.size() > kMostBytes)) return std::nullopt;
    }
    return all;
}

// Whether the pre-tokenizer leaves a text whole, judged by its bytes. Returns false if unknown.
bool stays_whole(const Engine::Impl& p, Bytes text, bool continues) {
    if (!p.needed_to_cut) return false;
    const auto has = [text](char byte) { return std::memchr(text.data, byte, text.size) != nullptr; };
    for (const Regex::Needed& needed : *p.needed_to_cut) {
        if (!needed.text.empty()) {
            if (text.view().find(needed.text) != std::string_view::npos) return false;
        } else if (needed.at_start) {
            const bool has_prefix = p.spaced->prepends && !continues;
            if (!has_prefix && needed.bytes.find(char(text[0])) != std::string::npos) return false;
        } else if (std::any_of(needed.bytes.begin(), needed.bytes.end(), has)) {
            return false;
        }
    }
    return true;
}

// Prepares Model::encode_spaced, which can replace the normalizer and some pre-tokenizers.
void prepare_spaced(Engine::Impl* p) {
    const Pipeline& pipeline = p->pipeline;
    if (pipeline.model == nullptr || !pipeline.model->takes_spaced() || pipeline.normalizer == nullptr) return;
    const std::optional<SpaceMarks> marks = pipeline.normalizer->space_marks();
    if (!marks || !marks->replaces || p->aligns_ids()) return;
    // encode_spaced and encode_words would share the cache ModelScratch::marked, where encode_words caches words
    // without U+2581.
    if (pipeline.words_to_mark() != nullptr) return;
    std::vector<std::string> contents;
    for (const AddedToken& token : p->vocabulary->added()) {
        if (!(token.flags & kNormalized)) continue;
        std::string content = p->vocabulary->text_of(token.id);
        while (content.compare(0, kSpaceMark.size(), kSpaceMark) == 0) content.erase(0, kSpaceMark.size());
        // A normalized text has this content only if the original text has it without the U+2581 in front.
        if (content.empty() || content.find(kSpaceMark) != std::string::npos) return;
        contents.push_back(std::move(content));
    }
    std::sort(contents.begin(), contents.end());
    contents.erase(std::unique(contents.begin(), contents.end()), contents.end());
    std::vector<std::pair<std::string_view, int32_t>> keys;
    keys.reserve(contents.size());
    for (const std::string& content : contents) keys.emplace_back(content, 0);
    if (!keys.empty()) p->unspaced_trie = build_double_array(keys);
    p->unspaced = AddedMatcher(keys.empty() ? DoubleArrayView() : view_of(p->unspaced_trie), {});
    p->spaced = marks;
    p->needed_to_cut = needed_to_cut(pipeline.pre_tokenizer.get());
}

// Encodes a text between added tokens without writing the normalized text. Returns false, with nothing done, if this
// text needs the normalizer.
bool encode_spaced(const Engine::Impl& p, Bytes text, bool continues, Scratch& s, IdBuffer* out) {
    if (!p.spaced || p.unspaced.finds(text)) return false;
    if (!stays_whole(p, text, continues)) {
        s.normalized.assign(text, false);
        s.normalized.continues = continues;
        p.pipeline.normalizer->normalize(&s.normalized);
        Origin place;
        place.continues = continues;
        const size_t size = s.normalized.size();
        const PieceList& list = cut_text(p, Bytes(s.normalized.text), place, false, s);
        if (list.pieces.size() != 1 || list.pieces[0].start != 0 || list.pieces[0].end != size ||
            list.text.text != s.normalized.text)
            return false;
    }
    return p.pipeline.model->encode_spaced(text, p.spaced->prepends && !continues, s.model.get(), out);
}

// A model that transformers builds from Python's numbers has "nearest_scores": true. A JSON string cannot contain these
// bytes, because of their quotes.
Cartridge with_scores_of(const Cartridge& cartridge, std::string_view components) {
    if (cartridge.scores.empty()) return cartridge;
    return cartridge.with_nearest_scores(components.find("\"nearest_scores\":true") != std::string_view::npos);
}

}  // namespace

Engine::Engine(const Cartridge& cartridge, Greedy greedy)
    : cartridge_(cartridge), components_(cartridge_.components.view()), greedy_(greedy) {
    prepare(special_ids(cartridge_.added_tokens));
    impl_->vocabulary.emplace(cartridge_, impl_->pipeline.normalizer.get());
    finish();
}

Engine::Engine(const Cartridge& cartridge, std::string_view components, const std::vector<AddedTokenSpec>& added,
               Greedy greedy)
    : cartridge_(with_scores_of(cartridge, components)),
      own_components_(components),
      components_(own_components_),
      greedy_(greedy) {
    prepare(special_ids(added));
    impl_->vocabulary.emplace(cartridge_, added, impl_->pipeline.normalizer.get());
    finish();
}

void Engine::prepare(std::vector<uint32_t> specials) {
    if (is_greedy())
        for (const uint32_t id : control_ids(cartridge_)) specials.push_back(id);
    if (cartridge_.program().flavor >= kFlavorCount)
        throw Error(ErrorKind::cartridge, "the program has an unknown flavor");
    impl_ = std::make_unique<Impl>();
    Impl& p = *impl_;
    p.kernels = &selected_kernels();
    try {
        p.pipeline = make_pipeline(components_, cartridge_, *p.kernels, is_greedy() ? &specials : nullptr);
    } catch (const Error& error) {
        // The cartridge's own components passed the compiler's checks.
        if (!own_components_.empty()) throw;
        throw Error(ErrorKind::cartridge, std::string("section components: ") + error.what());
    }
    if (cartridge_.has_merges()) {
        p.merges = MergeTables::of(cartridge_);
        p.cuts = ByteCuts(cartridge_.byte_cuts);
        p.merges.choose_batch(*p.kernels);
    }
    p.unknown = greedy_.value_or(UnknownIds());
}

void Engine::finish() {
    Impl& p = *impl_;
    const Vocabulary& vocabulary = *p.vocabulary;
    prepare_spaced(&p);
    p.trim = [&vocabulary](uint32_t id) { return vocabulary.white_ends_of(id); };
    forget_known_texts(&p.pipeline.post_processor, [&](uint32_t id) {
        return vocabulary.has(id) ? std::optional<std::string>(vocabulary.text_of(id)) : std::nullopt;
    });
    for (const bool is_pair : {false, true}) p.surrounds[is_pair] = surrounds_of(p.pipeline.post_processor, is_pair);
    uint32_t flags = 0;
    for (const AddedToken& token : vocabulary.added()) flags |= token.flags;
    const bool may_claim_the_same = (flags & kLstrip) && (flags & kRstrip);
    const Pipeline& pipeline = p.pipeline;
    const bool is_normalized = pipeline.normalizer == nullptr || pipeline.normalizer->takes_any_text();
    const bool is_cut = pipeline.scan != nullptr || pipeline.pre_tokenizer == nullptr ||
                        pipeline.pre_tokenizer->shape() == PreTokenizer::Shape::space_marks;
    const bool is_known = pipeline.model == nullptr ? pipeline.scan != nullptr : pipeline.model->takes_any_text();
    p.stops_early = is_normalized && is_cut && is_known && !may_claim_the_same && !is_random();
}

Engine::~Engine() = default;

std::shared_ptr<const Engine> Engine::open(const std::string& path, Checks checks,
                                           const std::optional<FileIdentity>& verified) {
    const auto storage = open_file(path);
    const bool is_known = verified && storage->identity() == verified;
    return named(path, [&] {
        const Cartridge cartridge(storage);
        if (!is_known) verify_cartridge(cartridge, checks);
        return std::shared_ptr<const Engine>(new Engine(cartridge, std::nullopt));
    });
}

std::shared_ptr<const Engine> Engine::from_bytes(Bytes bytes, Checks checks) {
    const Cartridge cartridge(own_bytes(bytes));
    verify_cartridge(cartridge, checks);
    return std::shared_ptr<const Engine>(new Engine(cartridge, std::nullopt));
}

std::shared_ptr<const Engine> Engine::with_components(std::string_view components,
                                                      const std::vector<AddedTokenSpec>& added) const {
    std::shared_ptr<Engine> engine(new Engine(cartridge_, components, added, greedy_));
    // Added tokens are cut out before words are looked up, so the threads' caches stay valid.
    if (components == components_ && !is_greedy()) engine->impl_->pool = impl_->pool;
    return engine;
}

std::shared_ptr<const Engine> Engine::greedy(std::optional<UnknownIds> unknown) const {
    // A hole in the ids is allowed: CRAYON's files may lack the id that CRAYON gives.
    if (unknown && unknown->id >= cartridge_.program().n_ids)
        throw Error(ErrorKind::argument, "the id for unknown tokens, " + std::to_string(unknown->id) +
                                             ", is beyond those of the vocabulary");
    const Greedy greedy = unknown.value_or(UnknownIds());
    return std::shared_ptr<const Engine>(own_components_.empty()
                                             ? new Engine(cartridge_, greedy)
                                             : new Engine(cartridge_, components_, added_tokens(), greedy));
}

std::pair<int64_t, size_t> Engine::longest_match(Bytes data, size_t start) const {
    if (start >= data.size) return {-1, 0};
    const auto [bytes, id] = impl_->pipeline.match.at(data.slice(start, data.size));
    return {id < 0 ? -1 : int64_t(impl_->unknown(uint32_t(id))), bytes};
}

Engine::Lease::Lease(const Engine& engine, size_t worker) : engine_(engine), worker_(worker) {}
Scratch& Engine::Lease::operator*() const {
    if (scratch_ == nullptr) {
        scratch_ = engine_.impl_->pool->take(worker_);
        const Model* model = engine_.impl_->pipeline.model.get();
        if (model != nullptr && scratch_->model == nullptr) {
            scratch_->model = model->make_scratch();
            scratch_->model->kernels = engine_.impl_->kernels;
            scratch_->model->memos = scratch_->memos;
        }
    }
    return *scratch_;
}
Engine::Lease::~Lease() {
    if (scratch_ != nullptr) engine_.impl_->pool->give(std::move(scratch_));
}

void Engine::encode_ids(Bytes text, const EncodeOptions& options, Scratch& s, IdBuffer* out, TextEnds ends) const {
    const Surround* const around = surround(false, options.add_special_tokens);
    if (around == nullptr) {  // the text has no seams, so this is all of it
        EncodeOptions plain = options;
        plain.truncation.reset();
        plain.padding.reset();
        const Encoding whole = encode({{text}, false}, nullptr, plain, s);
        out->append(whole.ids.data(), whole.ids.size());
        return;
    }
    if (ends.start) append_ids(around->before, out);
    encode_inner_ids(text, options.special_as_text, s, out, !ends.start);
    if (ends.end) append_ids(around->after, out);
}

void Engine::encode_inner_ids(Bytes text, bool special_as_text, Scratch& s, IdBuffer* out, bool continues) const {
    const Impl& p = *impl_;
    const ByteLevelTables tables = p.tables(cartridge_);
    const auto on_added = [&](uint32_t id, Bytes, const Origin&) { out->push(int32_t(id)); };
    const auto encode = [&](Bytes piece, const Origin& place) {
        if (p.pipeline.scan != nullptr) return encode_scanned(tables, prefixed(p, piece, s), s, out, nullptr);
        if (p.pipeline.words_to_mark() && place.unplaced == 0) return encode_words(p, piece, s, out);
        const PieceList& list = cut_text(p, piece, place, false, s);
        if (p.on_bytes()) return encode_pieces(tables, list.text.text, list.pieces, s, out, nullptr);
        p.pipeline.model->encode(Bytes(list.text.text), list.pieces.data(), list.pieces.size(), s.model.get(), out);
    };
    const auto on_text = [&](Bytes piece, const Origin& place) {
        const size_t before = out->size();
        encode(piece, place);
        map_unknown_ids(p.unknown, before, out);
    };
    const auto on_raw = [&](Bytes piece, bool goes_on) {
        const size_t before = out->size();
        const bool is_done = encode_spaced(p, piece, goes_on, s, out);
        map_unknown_ids(p.unknown, before, out);
        return is_done;
    };
    if (p.pipeline.scan != nullptr) return walk_text(p, text, special_as_text, false, s, on_added, on_text, continues);
    const auto on_part = [&](size_t from, size_t to) {
        walk_text(p, text.slice(from, to), special_as_text, p.aligns_ids(), s, on_added, on_text, continues || from > 0,
                  p.words_only(), on_raw);
    };
    // Places in pieces have 32 bits, and a pre-tokenizer works on a copy of the text.
    if (text.size <= kLargeText) return on_part(0, text.size);
    for (SeamFinder parts(seams(special_as_text), text); !parts.is_done();) {
        const size_t from = parts.done();
        on_part(from, parts.next(kLargePart));
    }
}

void Engine::encode_raw(Bytes data, Scratch& s, IdBuffer* out) const {
    const Impl& p = *impl_;
    if (!p.on_bytes())
        throw Error(ErrorKind::unsupported, "this vocabulary is over text, not bytes: some bytes have no token");
    const ByteLevelTables tables = p.tables(cartridge_);
    if (is_greedy()) {
        const size_t before = out->size();
        encode_whole(tables, data, s, out);
        return map_unknown_ids(p.unknown, before, out);
    }
    if (p.pipeline.scan != nullptr) return encode_scanned(tables, data, s, out, nullptr);
    // A pre-tokenizer without a scanner needs UTF-8, so it gets the valid parts of `data`, unless it would drop some of
    // their bytes.
    for (size_t start = 0; start < data.size;) {
        const size_t end = start + utf8_error(data.data + start, data.size - start);
        if (end > start) {
            const Bytes text = data.slice(start, end);
            const PieceList& list = cut_text(p, text, Origin(), false, s);
            if (!keeps_all(list, text)) s.pieces.pieces.assign(1, {0, uint32_t(text.size)});
            encode_pieces(tables, text, list.pieces, s, out, nullptr);
        }
        start = end;
        if (start < data.size) {
            s.pieces.pieces.assign(1, {0, 1});
            encode_pieces(tables, data.slice(start, start + 1), s.pieces.pieces, s, out, nullptr);
            ++start;
        }
    }
}

void Engine::merge_pretoken(Bytes pretoken, MergeWay way, Scratch& scratch, IdBuffer* out) const {
    if (pretoken.empty()) return;
    if (!cartridge_.has_merges())
        throw Error(ErrorKind::unsupported, "merge_pretoken is for byte-level vocabularies with merges");
    const MergeTables& merges = impl_->merges;
    out->reserve_more(pretoken.size);
    uint32_t* const to = reinterpret_cast<uint32_t*>(out->end());
    Merger& merger = scratch.merger;
    switch (way) {
        case MergeWay::usual:
            return out->advance(merger.merge(merges, pretoken, to));
        case MergeWay::together: {
            if (pretoken.size > MergeTask::kLongest)
                throw Error(ErrorKind::argument, "at most 31 bytes are merged together with others");
            // Also merges all substrings of the pretoken. So the tasks have various sizes, and are more than the merge
            // batch runs at a time.
            std::vector<MergeTask> tasks(pretoken.size * (pretoken.size + 1) / 2);
            std::vector<uint32_t> ids(tasks.size() * MergeTask::kRoom);
            size_t n = 0;
            for (size_t size = 1; size <= pretoken.size; ++size)
                for (size_t start = 0; start + size <= pretoken.size; ++start, ++n)
                    tasks[n].set(pretoken.data + start, size, size, &ids[n * MergeTask::kRoom]);
            merges.batch(merges, tasks.data(), tasks.size());
            std::copy_n(tasks.back().out, tasks.back().count, to);
            return out->advance(tasks.back().count);
        }
        case MergeWay::heap:
            return out->advance(merger.merge_heap(ByteSymbols{merges, pretoken}, to));
    }
}

std::vector<size_t> Engine::cuts(Bytes pretoken) const {
    if (!cartridge_.has_merges())
        throw Error(ErrorKind::unsupported, "only byte-level vocabularies with merges have cuts");
    if (pretoken.empty()) return {};
    std::vector<size_t> borders;
    ByteCuts::Walk walk(impl_->cuts, pretoken.data, pretoken.size);
    for (size_t at; (at = walk.next()) < pretoken.size;) borders.push_back(at);
    return borders;
}

bool Engine::has_id(int64_t id) const {
    return impl_->vocabulary->has(id);
}

std::string Engine::id_to_token(uint32_t id) const {
    return impl_->vocabulary->text_of(id);
}

std::string Engine::id_to_bytes(uint32_t id) const {
    return std::string(impl_->vocabulary->bytes_of(id).view());
}

int64_t Engine::token_to_id(std::string_view token) const {
    return impl_->vocabulary->find(token);
}

std::vector<std::pair<std::string, uint32_t>> Engine::vocabulary(bool with_added) const {
    const Vocabulary& vocabulary = *impl_->vocabulary;
    const uint8_t wanted = with_added ? kPresent : kModel;
    std::vector<std::pair<std::string, uint32_t>> out;
    for (uint32_t id = 0; id < vocabulary.n_ids(); ++id)
        if (vocabulary.flags(id) & wanted) out.emplace_back(vocabulary.content_of(id), id);
    return out;
}

std::optional<std::string> Engine::vocabulary_json(bool pretty) const {
    const Cartridge& c = cartridge_;
    if (!c.has_text_tokens()) return std::nullopt;
    const bool has_scores = !c.scores.empty();
    json::ModelWriter out(pretty, c.token_bytes.size + 32 * size_t(c.program().model_size));
    out.begin(has_scores ? '[' : '{');
    for (uint32_t id = 0; id < c.program().n_ids; ++id) {
        if (!(c.token_flags[id] & kModel)) continue;
        const std::string_view token = c.bytes_of(id).view();
        has_scores ? out.piece(token, c.scores[id]) : out.token(token, id);
    }
    return out.end(has_scores ? ']' : '}');
}

uint32_t Engine::vocabulary_size(bool with_added) const {
    return impl_->vocabulary->size(with_added);
}

std::vector<AddedTokenSpec> Engine::added_tokens() const {
    std::vector<AddedTokenSpec> out;
    for (const AddedToken& token : impl_->vocabulary->added())
        out.push_back({token.id, token.flags, impl_->vocabulary->content_of(token.id)});
    return out;
}

size_t Engine::special_tokens_added(bool is_pair) const {
    return count_added_tokens(impl_->pipeline.post_processor, is_pair);
}

size_t Engine::tokens_left(bool is_pair, const EncodeOptions& options) const {
    return options.truncation->max_length - (options.add_special_tokens ? special_tokens_added(is_pair) : 0);
}

const Seams& Engine::seams(bool special_as_text) const {
    return impl_->seams.get(impl_->pipeline, *impl_->vocabulary, special_as_text);
}

const Surround* Engine::surround(bool is_pair, bool add_special_tokens) const {
    const std::optional<Surrounds>& all = impl_->surrounds[is_pair];
    return all ? &(*all)[add_special_tokens] : nullptr;
}

std::optional<Family> Engine::family() const {
    if (impl_->pipeline.scan == nullptr) return std::nullopt;
    return impl_->pipeline.family;
}

bool Engine::is_random() const {
    return impl_->pipeline.model != nullptr && impl_->pipeline.model->is_random();
}

const Kernels& Engine::kernels() const {
    return *impl_->kernels;
}

}  // namespace crayon
