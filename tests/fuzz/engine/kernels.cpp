// A batch has one ragged array of ids: by the kernels of a GPU, which run on the CPU here, in partitions of any size,
// as by the engine. And what the kernels take for the start of a pretoken, from the characters around it, is one.
// Input: which vocabulary, what is asked, options, a partition's size, where texts end; then the texts: bytes as they
// are, their text, or pieces that patterns treat apart, which are repeated so that runs cross chunks.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "crayon/batch/batch.h"
#include "crayon/support/error.h"
#include "gpu/boundaries.h"
#include "gpu/encoder.h"
#include "gpu/host_device.h"
#include "support.h"

using namespace crayon;

namespace {

// Of each class, and what contractions, line breaks and groups of digits are made of. The last ones are no text.
constexpr std::string_view kPieces[] = {
    "a",        "s",        "A",
    "E",        "l",        "L",
    "'",        "ſ",        "ǅ",
    "é",        "É",        "中",
    "ʰ",        "\u0301",   "1",
    "٣",        " ",        "\t",
    "\u00a0",   "\n",       "\r\n",
    "/",        "!",        "\u2028",
    "🙂",     "'s",       "'LL",
    "'vE",      " the",     "<s>",
    "[X] ",     "crayon",   "12",
    "x\u0301y", "aB",       "\x80",
    "\xe4\xb8", "\xf0\x9f", "\xed\xa0\x80",
    "\xff",
};
constexpr size_t kPiecesOfText = 35, kAllPieces = std::size(kPieces);

std::string built(Bytes data, bool only_text) {
    const size_t n = only_text ? kPiecesOfText : kAllPieces;
    std::string out;
    std::string_view last = kPieces[0];
    for (const uint8_t byte : data) {
        if (byte >= 0xF0) {  // up to some thousand bytes of one kind
            const size_t times = size_t(1) << (byte & 15) >> 1;
            for (size_t i = 0; i < times && out.size() < 12000; ++i) out += last;
        } else {
            out += last = kPieces[byte % n];
        }
    }
    return out;
}

// Where texts end: some of them empty, and where `in_text` only between characters.
std::vector<uint64_t> ends_of(fuzz::Input* cuts, const std::string& text, bool in_text) {
    std::vector<uint64_t> offsets{0};
    const size_t scale = text.size() / 64 + 1;
    while (cuts->size() > 0 && offsets.size() < 200) {
        size_t at = std::min<size_t>(offsets.back() + cuts->byte() % 16 * scale, text.size());
        while (in_text && at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
        offsets.push_back(at);
    }
    offsets.push_back(text.size());
    return offsets;
}

// -- starts of pretokens

// What the kernels up to those that find boundaries need, and what they make.
struct Described {
    Described(const std::string& text, const std::vector<uint64_t>& offsets) {
        work.size = uint32_t(text.size());
        const size_t chunks = gpu::chunks_of(work), words = gpu::bitmap_words(work);
        bytes.resize(chunks * gpu::kChunk / 8 + 2);
        std::memcpy(bytes.data(), text.data(), text.size());
        for (auto* bitmap : {&segments, &documents}) bitmap->resize(words);
        planes.resize(chunks + 1);
        sets.resize(chunks);
        digits.resize(chunks);
        tiles.resize(chunks);
        is_host.resize(offsets.size());
        flags = gpu::byte_flags();
        work.tables.class_index = kClassIndex;
        work.tables.class_blocks = kClassBlocks[0];
        work.tables.byte_flags = flags.data();
        work.text = reinterpret_cast<const uint8_t*>(bytes.data());
        work.offsets = offsets.data();
        work.n_documents = uint32_t(offsets.size() - 1);
        work.segments = segments.data();
        work.documents = documents.data();
        work.planes = planes.data();
        work.chunk_sets = sets.data();
        work.digit_states = digits.data();
        work.digit_tiles = tiles.data();
        work.is_host = is_host.data();
        work.totals = &totals;
        run<gpu::MarkDocuments>();
        run<gpu::DescribeChunks>();
        run<gpu::JoinDigits>();
        run<gpu::ScanDigitTiles>();
        run<gpu::SpreadDigits>();
    }
    template <typename K>
    void run() {
        const auto shared = std::make_unique<typename K::Shared>();
        for (uint32_t i = 0; i < K::blocks(work); ++i) K::run(gpu::Block<K::kThreads>(i), work, *shared);
    }

    gpu::Work work{};
    gpu::Totals totals{};
    std::vector<uint64_t> bytes;
    std::vector<uint32_t> segments, documents;
    std::vector<gpu::Planes> planes;
    std::vector<uint8_t> sets, digits, tiles, is_host;
    std::array<uint8_t, 256> flags;
};

template <Family family>
void check_starts(const std::string& text, const std::vector<uint64_t>& offsets, const Described& described) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    const gpu::Work& work = described.work;
    const auto fail = [&](const char* what, uint32_t at) {
        fuzz::require(false, what,
                      "family " + std::to_string(int(family)) + ", byte " + std::to_string(at) + " of " + text);
    };
    std::set<uint32_t> starts;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
        const uint32_t from = uint32_t(offsets[i]), to = uint32_t(offsets[i + 1]);
        for (const uint8_t* p = bytes + from; p < bytes + to; p = pretoken_end<family>(p, bytes + to))
            starts.insert(uint32_t(p - bytes));
        for (uint32_t at = from; at < to;) {
            const Char c = read_char(bytes + at, bytes + to);
            if (!gpu::begins_char(work, at)) fail("a character begins here", at);
            for (uint32_t k = 0; k < c.size; ++k) {
                const gpu::Planes& p = work.planes[(at + k) / gpu::kChunk];
                const uint32_t place = (at + k) % gpu::kChunk;
                if (k > 0 && gpu::begins_char(work, at + k)) fail("no character begins here", at + k);
                if ((p.continuations >> place & 1) != uint64_t(k > 0)) fail("the plane of continuations", at + k);
                uint32_t found = 0;
                for (uint32_t b = 0; b < 3; ++b) found |= uint32_t(p.classes[b] >> place & 1) << b;
                if (c.set != 1u << found) fail("the planes of classes", at + k);
            }
            at += c.size;
        }
    }
    for (uint32_t chunk = 0; chunk * gpu::kChunk < work.size; ++chunk)
        for (uint64_t sure = gpu::sure_places<family>(work, chunk); sure != 0; sure &= sure - 1) {
            const uint32_t at = chunk * gpu::kChunk + lowest_bit(sure);
            if (starts.count(at) == 0) fail("no pretoken begins here", at);
        }
}

void check_all_starts(const std::string& text, const std::vector<uint64_t>& offsets) {
    const Described described(text, offsets);
    check_starts<Family::gpt2>(text, offsets, described);
    check_starts<Family::cl100k>(text, offsets, described);
    check_starts<Family::llama3>(text, offsets, described);
    check_starts<Family::qwen2>(text, offsets, described);
    check_starts<Family::o200k>(text, offsets, described);
    check_starts<Family::tekken>(text, offsets, described);
}

// All pairs of pieces behind those that the input begins with.
void check_neighbours(Bytes data) {
    std::string start;
    for (size_t i = 0; i < std::min<size_t>(data.size, 4); ++i) start += kPieces[data[i] % kAllPieces];
    for (const std::string_view a : kPieces) {
        for (const std::string_view b : kPieces) {
            std::string text = start;
            (text += a) += b;
            check_all_starts(text, {0, text.size()});
        }
    }
}

// -- ids

// Those of the vocabularies that a GPU encodes with, exact and greedy, in order. Uploaded once.
std::vector<std::pair<size_t, bool>> supported() {
    std::vector<std::pair<size_t, bool>> all;
    for (size_t i = 0; i < fuzz::vocabularies().size(); ++i)
        for (const bool is_greedy : {false, true})
            if (gpu::why_unsupported(*fuzz::engines_of(i, is_greedy).back()).empty()) all.emplace_back(i, is_greedy);
    fuzz::require(all.size() >= 14, "the published families are supported");
    return all;
}

gpu::Encoder& encoder_of(const fuzz::EnginePtr& engine) {
    static const std::unique_ptr<gpu::Device> device = gpu::make_host_device(size_t(1) << 36);
    static std::map<const Engine*, std::unique_ptr<gpu::Encoder>> encoders;
    std::unique_ptr<gpu::Encoder>& encoder = encoders[engine.get()];
    if (encoder == nullptr) encoder = std::make_unique<gpu::Encoder>(engine, device.get());
    return *encoder;
}

struct Result {
    std::string error;
    std::vector<int64_t> ids, splits;
    bool operator==(const Result& o) const { return error == o.error && ids == o.ids && splits == o.splits; }
};

std::string shown(const Result& result) {
    std::string out = result.error + "\nids";
    for (const int64_t id : result.ids) out += " " + std::to_string(id);
    out += "\nsplits";
    for (const int64_t at : result.splits) out += " " + std::to_string(at);
    return out;
}

template <typename Work>
Result result_of(Work&& work) {
    Result result;
    try {
        work(&result);
    } catch (const Error& error) {
        result.error = std::string(error.what()) + " (kind " + std::to_string(int(error.kind())) + ")";
    }
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::vector<std::pair<size_t, bool>> all = supported();
    fuzz::Input input(data, size);
    const auto& [vocabulary, is_greedy] = all[input.byte() % all.size()];
    const fuzz::EnginePtr& engine = fuzz::engines_of(vocabulary, is_greedy).back();
    const uint8_t ways = input.byte();
    EncodeOptions options;
    options.add_special_tokens = ways & 1;
    options.special_as_text = ways & 2;
    const uint8_t room = input.byte();
    gpu::Capacity capacity;
    capacity.elements = room < 8 ? capacity.elements : uint64_t(1) << (room & 15);
    capacity.margin = room & 16 ? capacity.margin : 0;
    capacity.lanes = 1 + (room >> 5) % 3;
    const Bytes cuts = input.take(input.byte() % 24);
    const bool only_text = (ways & 12) != 0;
    const Bytes rest = input.rest();
    if ((ways & 0xF0) == 0xF0) {
        check_neighbours(rest);
        return 0;
    }
    const std::string text = ways & 16   ? built(rest, only_text)
                             : only_text ? fuzz::text_of(rest)
                                         : std::string(rest.view());
    fuzz::Input where(cuts.data, cuts.size);
    const std::vector<uint64_t> offsets = ends_of(&where, text, only_text);
    check_all_starts(text, offsets);

    std::vector<TextView> texts;
    std::string invalid;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
        const size_t n = size_t(offsets[i + 1] - offsets[i]), valid = utf8_error(bytes + offsets[i], n);
        if (valid < n && invalid.empty())
            invalid = "text " + std::to_string(i) + " is not UTF-8: invalid byte at offset " + std::to_string(valid);
        texts.push_back({bytes + offsets[i], n, 0});
    }
    const Result wanted = result_of([&](Result* out) {
        if (!invalid.empty()) throw Error(ErrorKind::utf8, invalid);
        const Ragged made = encode_ragged(*engine, texts, options, 1);
        out->ids.assign(made.ids.data(), made.ids.data() + made.ids.size());
        out->splits = made.splits;
    });
    // An allocation of its own, so that a read behind the end is seen.
    const std::vector<uint8_t> copy(bytes, bytes + text.size());
    const gpu::FlatTexts flat{copy.data(), offsets.data(), texts.size(), (ways & 32) != 0};
    gpu::Encoder& encoder = encoder_of(engine);
    encoder.set_capacity(capacity);
    const auto what = [&](const Result& made) { return shown(wanted) + "\n" + shown(made) + "\ntext: " + text; };
    Result made = result_of([&](Result* out) {
        const Ragged ragged = encoder.encode_ragged(flat, options);
        out->ids.assign(ragged.ids.data(), ragged.ids.data() + ragged.ids.size());
        out->splits = ragged.splits;
    });
    fuzz::require(made == wanted, "encode_ragged", what(made));
    // Now in memory that has been used.
    made = result_of([&](Result* out) {
        const gpu::DeviceRagged ragged = encoder.encode_on_device(flat, options);
        out->ids.assign(ragged.ids.data(), ragged.ids.data() + ragged.n_ids);
        out->splits.assign(ragged.row_splits.data(), ragged.row_splits.data() + texts.size() + 1);
    });
    fuzz::require(made == wanted, "encode_on_device", what(made));
    return 0;
}
