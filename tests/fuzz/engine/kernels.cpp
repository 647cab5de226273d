// The kernels of a GPU, run on the CPU, give the engine's ragged ids for a batch, in partitions of any size. Input:
// vocabulary, requested result, options, a partition's size, ends of texts; then the texts. Texts are the raw bytes,
// the bytes as valid UTF-8, or pieces of kPieces, repeated so that runs cross chunks.
#include <algorithm>
#include <map>
#include <memory>

#include "crayon/encode/sinks/batch.h"
#include "crayon/support/error.h"
#include "gpu/encoder.h"
#include "gpu/host_device.h"
#include "support.h"

using namespace crayon;

namespace {

// Pieces of each class, and the parts of contractions, line breaks and groups of digits. The last ones are invalid
// UTF-8.
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
        if (byte >= 0xF0) {  // repeats a piece up to some thousand bytes
            const size_t times = size_t(1) << (byte & 15) >> 1;
            for (size_t i = 0; i < times && out.size() < 12000; ++i) out += last;
        } else {
            out += last = kPieces[byte % n];
        }
    }
    return out;
}

// Draws the offsets at which texts end; some texts are empty. With `in_text` all offsets are between characters.
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

// Returns the vocabularies that a GPU supports: number, and whether in greedy mode.
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
    const std::string text = ways & 16   ? built(rest, only_text)
                             : only_text ? fuzz::text_of(rest)
                                         : std::string(rest.view());
    fuzz::Input where(cuts.data, cuts.size);
    const std::vector<uint64_t> offsets = ends_of(&where, text, only_text);

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
    // An allocation of its own exposes reads behind the end.
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
    // Encodes again, in memory that the first run has used.
    made = result_of([&](Result* out) {
        const gpu::DeviceRagged ragged = encoder.encode_on_device(flat, options);
        out->ids.assign(ragged.ids.data(), ragged.ids.data() + ragged.n_ids);
        out->splits.assign(ragged.row_splits.data(), ragged.row_splits.data() + texts.size() + 1);
    });
    fuzz::require(made == wanted, "encode_on_device", what(made));
    return 0;
}
