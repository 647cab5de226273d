#include "support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>

#include "crayon/budgets/budgets.h"
#include "crayon/compiler/compiler.h"
#include "crayon/encode/sinks/batch.h"
#include "crayon/encode/sinks/columns.h"
#include "crayon/encode/sinks/ranges.h"
#include "crayon/encode/sinks/stream_encoder.h"
#include "crayon/support/error.h"
#include "crayon/texts/text_ranges.h"
#include "crayon/unicode/unicode.h"

namespace crayon::fuzz {
namespace {

constexpr Vocabulary kVocabularies[] = {
#include "vocabularies.h"
};

// Longer texts skip the plain algorithm, which takes time quadratic in a piece's length.
constexpr size_t kPlainBytes = 1024;

std::string hex(const std::string& bytes) {
    std::string out;
    char digits[4];
    for (const unsigned char c : bytes) {
        std::snprintf(digits, sizeof digits, "%02x", c);
        out += digits;
    }
    return out;
}

}  // namespace

static bool only_safe = false;

OnlySafe::OnlySafe() {
    only_safe = true;
}

OnlySafe::~OnlySafe() {
    only_safe = false;
}

void require(bool holds, const std::string& what, const std::string& detail) {
    if (holds || only_safe) return;
    std::fprintf(stderr, "DIFFERENCE: %s\n%s\n", what.c_str(), detail.c_str());
    std::abort();
}

const std::vector<Vocabulary>& vocabularies() {
    static const std::vector<Vocabulary> all(std::begin(kVocabularies), std::end(kVocabularies));
    return all;
}

std::vector<std::string> levels() {
    std::vector<std::string> names;
    for (const CpuLevel level : available_cpu_levels()) names.push_back(cpu_level_name(level));
    return names;
}

AtLevel::AtLevel(const std::string& level) {
    setenv("CRAYON_CPU", level.c_str(), 1);
}
AtLevel::~AtLevel() {
    unsetenv("CRAYON_CPU");
}

Engines open_everywhere(Bytes cartridge, bool is_greedy, Checks checks) {
    Engines engines;
    for (const std::string& level : levels()) {
        const AtLevel at(level);
        engines.push_back(Engine::from_bytes(cartridge, checks));
        if (is_greedy) engines.back() = engines.back()->greedy();
    }
    return engines;
}

const Engines& engines_of(size_t vocabulary, bool is_greedy) {
    static std::map<std::pair<size_t, bool>, Engines> made;
    Engines& engines = made[{vocabulary, is_greedy}];
    if (engines.empty())
        engines = open_everywhere(compile_tokenizer_json(vocabularies()[vocabulary].json, CompileOptions()), is_greedy);
    return engines;
}

std::string text_of(Bytes data) {
    return utf8_lossy(data.data, data.size);
}

Outcome outcome_of(const std::function<void(IdBuffer*)>& work) {
    Outcome out;
    IdBuffer ids;
    try {
        work(&ids);
        out.ids.assign(ids.data(), ids.end());
    } catch (const Error& error) {
        out.error = std::string(error.what()) + " (kind " + std::to_string(int(error.kind())) + ")";
    }
    return out;
}

std::string shown(const Outcome& outcome) {
    if (!outcome.error.empty()) return "error: " + outcome.error;
    std::string out;
    for (const int64_t id : outcome.ids) out += std::to_string(id) + " ";
    return out;
}

namespace {

void require_same(const Outcome& a, const Outcome& b, const std::string& what, const std::string& text) {
    if (a == b) return;
    require(false, what, shown(a) + "\n" + shown(b) + "\ntext (hex): " + hex(text));
}

Outcome whole(const Engine& engine, Bytes text, const EncodeOptions& options) {
    return outcome_of([&](IdBuffer* out) {
        const Engine::Lease scratch(engine);
        engine.encode_ids(text, options, *scratch, out);
    });
}

size_t characters_of(Bytes text) {
    size_t n = 0;
    for (const uint8_t c : text) n += (c & 0xC0) != 0x80;
    return n;
}

std::vector<size_t> character_starts(Bytes text) {
    std::vector<size_t> starts;
    for (size_t i = 0; i < text.size; ++i)
        if ((text[i] & 0xC0) != 0x80) starts.push_back(i);
    starts.push_back(text.size);
    return starts;
}

// Checks that the full Encoding has these ids, and offsets inside the text.
void check_record(const EnginePtr& engine, const std::string& text, const EncodeOptions& options, const Outcome& ids) {
    Encoding record;
    const Outcome outcome = outcome_of([&](IdBuffer* out) {
        const Engine::Lease scratch(*engine);
        record = engine->encode({{Bytes(text)}, false}, nullptr, options, *scratch);
        out->append(record.ids.data(), record.ids.size());
    });
    require_same(ids, outcome, "encode against encode_ids", text);
    const size_t characters = characters_of(text);
    for (const Offset& offset : record.offsets)
        require(offset.start <= offset.end && offset.end <= characters, "offsets outside the text", hex(text));
    require(record.ids.size() == record.offsets.size() && record.ids.size() == record.words.size(),
            "sizes of a record");
    if (outcome.error.empty())
        require(to_json(record, [&](uint32_t id) { return engine->id_to_token(id); }).size() > 0, "to_json");
}

void check_stream(const EnginePtr& engine, const std::string& text, const EncodeOptions& options, const Outcome& ids,
                  uint8_t window) {
    StreamOptions how;
    how.add_special_tokens = options.add_special_tokens;
    how.special_as_text = options.special_as_text;
    how.offsets = window & 1;
    const Outcome outcome = outcome_of([&](IdBuffer* out) {
        StreamEncoder stream(engine, how);
        const size_t least = 1 + window / 2;
        for (size_t from = 0, size = least;;) {
            const bool is_last = from + size >= text.size();
            if (is_last) size = text.size() - from;
            const StreamChunk chunk = stream.encode(Bytes(text).slice(from, from + size), is_last);
            out->append(chunk.id_data(), chunk.n_ids);
            if (is_last) break;
            from += chunk.consumed;
            size = chunk.consumed == 0 ? size + least : least;
        }
    });
    require_same(ids, outcome, "a stream against the whole text", text);
}

void check_batches(const Engine& engine, const std::string& text, const EncodeOptions& options, const Outcome& ids) {
    std::u32string wide;
    for (const uint8_t *p = Bytes(text).begin(), *const end = Bytes(text).end(); p < end;) {
        const Decoded c = decode_utf8(p, end);
        wide.push_back(c.code_point);
        p += c.size;
    }
    const std::vector<TextView> texts{{text.data(), text.size(), 0}, {wide.data(), wide.size(), 4}};
    Ragged ragged;
    const Outcome outcome = outcome_of([&](IdBuffer*) { ragged = encode_ragged(engine, texts, options, 1); });
    for (size_t i = 0; i < texts.size(); ++i) {
        Outcome one = outcome;
        if (one.error.empty())
            one.ids.assign(ragged.ids.data() + ragged.splits[i], ragged.ids.data() + ragged.splits[i + 1]);
        // In a batch the error may be another text's.
        require_same(ids, one, i == 0 ? "encode_ragged of UTF-8" : "encode_ragged of code points", text);
    }
    if (!ids.error.empty()) return;
    const std::vector<int64_t> counts = count_tokens(engine, texts, options, 1);
    require(counts[0] == int64_t(ids.ids.size()) && counts[1] == counts[0], "count_tokens", hex(text));

    const size_t cut = character_starts(text)[characters_of(text) / 2];
    const int64_t begins[] = {0, 0, int64_t(cut)}, ends[] = {int64_t(text.size()), int64_t(cut), int64_t(text.size())};
    const RaggedIds<uint32_t> found =
        encode_ranges<uint32_t>(engine, texts_of_ranges(text, begins, ends, 3), options, {}, 2);
    Outcome of_range;
    of_range.ids.assign(found.ids.data(), found.ids.data() + found.splits[1]);
    require_same(ids, of_range, "encode_ranges", text);

    const std::optional<Row> row = encode_row(engine, text, options);
    if (!row) return;
    Outcome of_row;
    std::vector<int32_t> values(row->size());
    row->write(Column::input_ids, values.data());
    of_row.ids.assign(values.begin(), values.end());
    require_same(ids, of_row, "encode_row", text);
}

}  // namespace

void check_text(const Engines& engines, const std::string& text, const Ways& ways) {
    EncodeOptions options;
    options.add_special_tokens = ways.add_special_tokens;
    options.special_as_text = ways.special_as_text;
    const EnginePtr& engine = engines.back();
    const Outcome ids = whole(*engine, text, options);
    if (engine->is_random()) return;
    for (const EnginePtr& other : engines)
        require_same(ids, whole(*other, text, options),
                     std::string("encode_ids on ") + cpu_level_name(other->kernels().level), text);
    if (!ways.everything) return;
    // Encodes a second time, when the cache has the text's words.
    require_same(ids, whole(*engine, text, options), "encode_ids again", text);
    check_record(engine, text, options, ids);
    check_stream(engine, text, options, ids, ways.window);
    check_batches(*engine, text, options, ids);
    check_decoding(engines, ids.ids, ways.special_as_text, false);
}

void check_raw(const Engines& engines, Bytes data) {
    const auto ids_of = [&](const Engine& engine) {
        return outcome_of([&](IdBuffer* out) {
            const Engine::Lease scratch(engine);
            engine.encode_raw(data, *scratch, out);
        });
    };
    const Outcome ids = ids_of(*engines.back());
    const std::string bytes(data.view());
    for (const EnginePtr& other : engines)
        require_same(ids, ids_of(*other), std::string("encode_raw on ") + cpu_level_name(other->kernels().level),
                     bytes);
    if (!ids.error.empty()) return;
    std::string back;
    outcome_of([&](IdBuffer*) {
        engines.back()->decode_bytes({ids.ids.data(), ids.ids.size(), IdView::Kind::int64}, false, false, &back);
        require(back == bytes, "bytes do not come back", hex(bytes) + "\n" + hex(back));
    });
    if (!engines.back()->cartridge().has_merges() || data.empty() || data.size > kPlainBytes) return;
    std::vector<Outcome> ways;
    for (const Engine::MergeWay way : {Engine::MergeWay::usual, Engine::MergeWay::together, Engine::MergeWay::heap}) {
        for (const EnginePtr& engine : engines) {
            Outcome outcome = outcome_of([&](IdBuffer* out) {
                const Engine::Lease scratch(*engine);
                engine->merge_pretoken(data, way, *scratch, out);
            });
            if (outcome.error.empty()) ways.push_back(std::move(outcome));
        }
    }
    for (const Outcome& outcome : ways) require_same(ways[0], outcome, "merge_pretoken", bytes);
}

void check_decoding(const Engines& engines, const std::vector<int64_t>& ids, bool skip_special, bool skip_unknown) {
    const IdView view(ids.data(), ids.size(), IdView::Kind::int64);
    const auto text_by = [&](const Engine& engine, int way) {
        std::string text;
        const Outcome outcome = outcome_of([&](IdBuffer*) {
            DecodedText decoded;
            if (way == 0) {
                engine.decode(view, skip_special, skip_unknown, &decoded);
                if (decoded.is_text)
                    require(utf8_error(Bytes(decoded.bytes).data, decoded.bytes.size()) == decoded.bytes.size(),
                            "decoded text that is none", hex(decoded.bytes));
                text = decoded.text();
            } else {
                engine.decode_strings(view, skip_special, skip_unknown, &text);
            }
        });
        return outcome.error + "|" + text;
    };
    const std::string text = text_by(*engines.back(), 0);
    for (const EnginePtr& engine : engines)
        require(text == text_by(*engine, 0), "decode on another instruction set", text);
    bool joins_bytes = true;
    const Outcome bytes = outcome_of([&](IdBuffer*) {
        std::string out;
        engines.back()->decode_bytes(view, skip_special, skip_unknown, &out);
        require(text == "|" + utf8_lossy(Bytes(out).data, out.size()), "decode against decode_bytes", hex(out));
    });
    joins_bytes = bytes.error.empty();
    if (!joins_bytes && bytes.error.find("(kind 2)") != std::string::npos)
        require(text == text_by(*engines.back(), 1), "decode against decode_strings", text);
}

void check_all(const Engines& engines, Input* input) {
    const uint8_t options = input->byte();
    Ways ways;
    ways.add_special_tokens = options & 1;
    ways.special_as_text = options & 2;
    ways.window = input->byte();
    const Bytes data = input->rest();
    check_text(engines, text_of(data), ways);
    if (options & 4) check_raw(engines, data);
}

}  // namespace crayon::fuzz
