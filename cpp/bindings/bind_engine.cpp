#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings.h"
#include "crayon/batch.h"
#include "crayon/compiler.h"
#include "crayon/error.h"
#include "crayon/pretokenize.h"
#include "crayon/unicode.h"

namespace crayon::python {
namespace {

using EnginePtr = std::shared_ptr<const Engine>;
using Ids = std::vector<int64_t>;

bool replaces_surrogates(const Engine& engine) {
    return Flavor(engine.cartridge().program().flavor) == Flavor::rust_regex;
}

EncodeOptions options_of(bool add_special_tokens, bool special_as_text, bool offsets = true) {
    EncodeOptions options;
    options.add_special_tokens = add_special_tokens;
    options.special_as_text = special_as_text;
    options.offsets = offsets;
    return options;
}

// A list or tuple as a tuple: items stay alive whatever happens to the list.
py::tuple items_of(py::handle object, const std::string& what) {
    if (PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || !PySequence_Check(object.ptr()))
        throw py::type_error(what + " is " + type_name(object) + ", expected a list");
    return py::tuple(py::reinterpret_borrow<py::object>(object));
}

Sequence sequence_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts) {
    Sequence out;
    out.is_pretokenized = is_pretokenized;
    if (!is_pretokenized) {
        out.parts.push_back(texts->add(object, what, false));
        return out;
    }
    const py::tuple words = items_of(object, what);
    for (size_t i = 0; i < words.size(); ++i)
        out.parts.push_back(texts->add(words[i], "word " + std::to_string(i) + " of " + what, false));
    return out;
}

// One item of a batch: a sequence, or a pair of them.
Input input_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts) {
    Input out;
    const bool is_list = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
    const auto first_is_list = [&] {
        const auto items = py::reinterpret_borrow<py::sequence>(object);
        return items.size() > 0 && !PyUnicode_Check(py::object(items[0]).ptr());
    };
    if (is_list && (!is_pretokenized || first_is_list())) {
        const py::tuple items = items_of(object, what);
        if (items.size() != 2)
            throw py::type_error(what + " has " + std::to_string(items.size()) + " sequences, expected one or a pair");
        out.first = sequence_of(items[0], is_pretokenized, "the first sequence of " + what, texts);
        out.second = sequence_of(items[1], is_pretokenized, "the second sequence of " + what, texts);
        out.is_pair = true;
    } else {
        out.first = sequence_of(object, is_pretokenized, what, texts);
    }
    return out;
}

std::vector<Bytes> texts_of(py::handle object, Texts* texts) {
    const py::tuple items = items_of(object, "texts");
    std::vector<Bytes> out;
    out.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
        const py::handle item = items[i];
        // The usual case without building the name that only an error needs.
        if (PyUnicode_Check(item.ptr()) && PyUnicode_IS_COMPACT_ASCII(item.ptr()))
            out.push_back(texts->add(item, std::string(), true));
        else
            out.push_back(texts->add(item, "item " + std::to_string(i) + " of the batch", true));
    }
    return out;
}

template <typename T>
py::array_t<T> take_array(T* data, size_t n, void (*release)(void*)) {
    const py::capsule owner(data, release);
    return py::array_t<T>(py::ssize_t(n), data, owner);
}

py::tuple ragged_arrays(Ragged&& ragged) {
    const size_t n = ragged.ids.size();
    ragged.ids.reserve_more(1);  // so that there is memory to own when there are no ids
    auto ids = take_array<int32_t>(ragged.ids.release(), n, [](void* p) { std::free(p); });
    auto* splits = new std::vector<int64_t>(std::move(ragged.splits));
    const py::capsule owner(splits, [](void* p) { delete static_cast<std::vector<int64_t>*>(p); });
    return py::make_tuple(ids, py::array_t<int64_t>(py::ssize_t(splits->size()), splits->data(), owner));
}

py::dict info_of(const Engine& engine) {
    const Program& p = engine.cartridge().program();
    py::dict out;
    out["version"] = kVersion;
    out["revision"] = kRevision;
    out["family"] = family_name(Family(p.family));
    out["flavor"] = Flavor(p.flavor) == Flavor::oniguruma ? "oniguruma" : "rust_regex";
    out["normalizer"] = NormalizerKind(p.normalizer) == NormalizerKind::nfc ? "NFC" : "none";
    out["ignore_merges"] = (p.flags & kIgnoreMerges) != 0;
    out["add_prefix_space"] = (p.flags & kAddPrefixSpace) != 0;
    out["vocab_size"] = p.vocab_size;
    out["model_size"] = p.model_size;
    out["merges"] = p.n_merges;
    out["added_tokens"] = engine.cartridge().added_tokens.size;
    out["max_token_bytes"] = p.max_token_bytes;
    out["file_size"] = engine.cartridge().file().size;
    out["cpu"] = engine.cpu_level();
    return out;
}

std::string hex(const uint8_t* data, size_t n) {
    static const char digits[] = "0123456789abcdef";
    std::string out;
    for (size_t i = 0; i < n; ++i) {
        out.push_back(digits[data[i] >> 4]);
        out.push_back(digits[data[i] & 15]);
    }
    return out;
}

py::list sections_of(const std::string& path) {
    const Cartridge cartridge(map_file(path));
    py::list out;
    for (const SectionEntry& entry : cartridge.table()) {
        py::dict row;
        row["name"] = section_name(entry.type);
        row["type"] = entry.type;
        row["offset"] = entry.offset;
        row["size"] = entry.size;
        row["checksum"] = entry.checksum;
        out.append(row);
    }
    return out;
}

py::bytes compile(const py::bytes& data, const std::string& metadata, const std::string& flavor) {
    CompileOptions options;
    options.metadata = metadata;
    if (flavor != "oniguruma" && flavor != "rust_regex")
        throw py::value_error("flavor is \"" + flavor + "\", expected \"oniguruma\" or \"rust_regex\"");
    options.flavor = flavor == "oniguruma" ? Flavor::oniguruma : Flavor::rust_regex;
    const std::string digest = py::bytes(py::module_::import("hashlib").attr("sha256")(data).attr("digest")());
    std::copy(digest.begin(), digest.end(), options.source_digest.begin());
    const std::string_view text(data);
    std::string cartridge;
    {
        const py::gil_scoped_release release;
        cartridge = compile_tokenizer_json(text, options);
    }
    return cartridge;
}

void bind_encode(py::class_<Engine, std::shared_ptr<Engine>>& c) {
    c.def(
        "encode",
        [](const EnginePtr& self, py::object sequence, py::object pair, bool is_pretokenized, bool special,
           bool as_text) {
            Texts texts(replaces_surrogates(*self));
            const Sequence first = sequence_of(sequence, is_pretokenized, "sequence", &texts);
            Sequence second;
            if (!pair.is_none()) second = sequence_of(pair, is_pretokenized, "pair", &texts);
            const Sequence* other = pair.is_none() ? nullptr : &second;
            const py::gil_scoped_release release;
            const Engine::Lease lease(*self);
            return PyEncoding{self->encode(first, other, options_of(special, as_text), *lease), self};
        },
        py::arg("sequence"), py::arg("pair") = py::none(), py::arg("is_pretokenized") = false,
        py::arg("add_special_tokens") = true, py::arg("special_as_text") = false);
    c.def(
        "encode_batch",
        [](const EnginePtr& self, py::object inputs, bool is_pretokenized, bool special, bool as_text, bool offsets,
           size_t threads) {
            Texts texts(replaces_surrogates(*self));
            const py::tuple items = items_of(inputs, "input");
            std::vector<Input> batch;
            batch.reserve(items.size());
            for (size_t i = 0; i < items.size(); ++i)
                batch.push_back(
                    input_of(items[i], is_pretokenized, "item " + std::to_string(i) + " of the batch", &texts));
            std::vector<Encoding> encodings;
            {
                const py::gil_scoped_release release;
                encodings = encode_batch(*self, batch, options_of(special, as_text, offsets), threads);
            }
            py::list out;
            for (Encoding& encoding : encodings) out.append(PyEncoding{std::move(encoding), self});
            return out;
        },
        py::arg("inputs"), py::arg("is_pretokenized") = false, py::arg("add_special_tokens") = true,
        py::arg("special_as_text") = false, py::arg("offsets") = true, py::arg("threads") = 0);
    c.def(
        "encode_ids",
        [](const Engine& self, py::object text, bool special, bool as_text) {
            Texts texts(replaces_surrogates(self));
            const Bytes bytes = texts.add(text, "text", true);
            IdBuffer ids;
            {
                const py::gil_scoped_release release;
                const Engine::Lease lease(self);
                self.encode_ids(bytes, options_of(special, as_text), *lease, &ids);
            }
            return list_of_ids(ids.data(), ids.size());
        },
        py::arg("text"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false);
    c.def(
        "encode_bytes",
        [](const Engine& self, const py::bytes& data) {
            const std::string_view bytes(data);
            IdBuffer ids;
            {
                const py::gil_scoped_release release;
                const Engine::Lease lease(self);
                self.encode_raw(bytes, *lease, &ids);
            }
            return list_of_ids(ids.data(), ids.size());
        },
        py::arg("data"));
    py::enum_<Engine::MergeWay>(c, "MergeWay")
        .value("usual", Engine::MergeWay::usual)
        .value("short_arrays", Engine::MergeWay::short_arrays)
        .value("sweeps", Engine::MergeWay::sweeps)
        .value("heap", Engine::MergeWay::heap);
    c.def(
        "merge_pretoken",
        [](const Engine& self, const py::bytes& pretoken, Engine::MergeWay way) {
            const std::string_view bytes(pretoken);
            IdBuffer ids;
            {
                const py::gil_scoped_release release;
                const Engine::Lease lease(self);
                self.merge_pretoken(bytes, way, *lease, &ids);
            }
            return list_of_ids(ids.data(), ids.size());
        },
        py::arg("pretoken"), py::arg("way"));
    c.def(
        "encode_ragged",
        [](const Engine& self, py::object texts, bool special, bool as_text, size_t threads) {
            Texts kept(replaces_surrogates(self));
            const std::vector<Bytes> batch = texts_of(texts, &kept);
            Ragged ragged;
            {
                const py::gil_scoped_release release;
                ragged = encode_ragged(self, batch, options_of(special, as_text), threads);
            }
            return ragged_arrays(std::move(ragged));
        },
        py::arg("texts"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("threads") = 0);
    c.def(
        "count_tokens",
        [](const Engine& self, py::object texts, bool special, bool as_text, size_t threads) {
            Texts kept(replaces_surrogates(self));
            const std::vector<Bytes> batch = texts_of(texts, &kept);
            const py::gil_scoped_release release;
            return count_tokens(self, batch, options_of(special, as_text), threads);
        },
        py::arg("texts"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("threads") = 0);
}

void bind_decode(py::class_<Engine, std::shared_ptr<Engine>>& c) {
    c.def(
        "decode",
        [](const Engine& self, py::object ids, bool skip) {
            const Ids list = ids_from(ids);
            std::string text;
            {
                const py::gil_scoped_release release;
                std::string bytes;
                self.decode({list.data(), list.size()}, skip, &bytes);
                text = utf8_lossy(Bytes(bytes).data, bytes.size());
            }
            return py::str(text);
        },
        py::arg("ids"), py::arg("skip_special_tokens") = true);
    c.def(
        "decode_bytes",
        [](const Engine& self, py::object ids, bool skip) {
            const Ids list = ids_from(ids);
            std::string bytes;
            {
                const py::gil_scoped_release release;
                self.decode({list.data(), list.size()}, skip, &bytes);
            }
            return py::bytes(bytes);
        },
        py::arg("ids"), py::arg("skip_special_tokens") = false);
    c.def(
        "decode_batch",
        [](const Engine& self, const py::iterable& sequences, bool skip, size_t threads) {
            std::vector<Ids> lists;
            for (const py::handle item : sequences) lists.push_back(ids_from(item));
            std::vector<Array<int64_t>> views;
            for (const Ids& list : lists) views.push_back({list.data(), list.size()});
            std::vector<std::string> texts;
            {
                const py::gil_scoped_release release;
                texts = decode_batch(self, views, skip, threads);
                for (std::string& text : texts) text = utf8_lossy(Bytes(text).data, text.size());
            }
            return texts;
        },
        py::arg("sequences"), py::arg("skip_special_tokens") = true, py::arg("threads") = 0);
}

void bind_vocabulary(py::class_<Engine, std::shared_ptr<Engine>>& c) {
    c.def(
        "token_to_id",
        [](const Engine& self, const std::string& token) -> py::object {
            const int64_t id = self.token_to_id(token);
            return id < 0 ? py::object(py::none()) : py::int_(id);
        },
        py::arg("token"));
    c.def(
        "id_to_token",
        [](const Engine& self, int64_t id) -> py::object {
            return self.has_id(id) ? py::object(py::str(self.id_to_token(uint32_t(id)))) : py::none();
        },
        py::arg("id"));
    c.def(
        "id_to_bytes",
        [](const Engine& self, int64_t id) -> py::object {
            if (!self.has_id(id)) return py::none();
            return py::bytes(std::string(self.id_to_bytes(uint32_t(id)).view()));
        },
        py::arg("id"));
    c.def(
        "get_vocab",
        [](const Engine& self, bool with_added) {
            py::dict out;
            for (const auto& [token, id] : self.vocabulary(with_added)) out[py::str(token)] = id;
            return out;
        },
        py::arg("with_added_tokens") = true);
    c.def(
        "get_vocab_size",
        [](const Engine& self, bool with_added) {
            const Program& p = self.cartridge().program();
            return with_added ? p.vocab_size : p.model_size;
        },
        py::arg("with_added_tokens") = true);
    c.def("added_tokens", [](const Engine& self) {
        std::vector<AddedToken> tokens(self.cartridge().added_tokens.begin(), self.cartridge().added_tokens.end());
        std::sort(tokens.begin(), tokens.end(), [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
        py::list out;
        for (const AddedToken& token : tokens) {
            py::dict row;
            row["id"] = token.id;
            row["content"] = self.id_to_token(token.id);
            row["single_word"] = (token.flags & kSingleWord) != 0;
            row["lstrip"] = (token.flags & kLstrip) != 0;
            row["rstrip"] = (token.flags & kRstrip) != 0;
            row["normalized"] = (token.flags & kNormalized) != 0;
            row["special"] = (token.flags & kSpecialToken) != 0;
            out.append(row);
        }
        return out;
    });
    c.def("num_special_tokens_to_add", &Engine::special_tokens_added, py::arg("is_pair"));
}

}  // namespace

void bind_engine(py::module_& m) {
    py::class_<Engine, std::shared_ptr<Engine>> c(m, "Engine");
    const auto mutable_ptr = [](EnginePtr engine) { return std::const_pointer_cast<Engine>(std::move(engine)); };
    c.def_static(
        "open",
        [mutable_ptr](const std::string& path, bool verify) {
            const py::gil_scoped_release release;
            return mutable_ptr(Engine::open(path, verify));
        },
        py::arg("path"), py::arg("verify") = false);
    c.def_static(
        "from_bytes",
        [mutable_ptr](const py::bytes& data) {
            const std::string_view bytes(data);
            const py::gil_scoped_release release;
            return mutable_ptr(Engine::from_bytes(bytes));
        },
        py::arg("data"));
    c.def_property_readonly("cpu", &Engine::cpu_level);
    c.def_property_readonly("source_digest",
                            [](const Engine& self) { return hex(self.cartridge().header().source_digest, 32); });
    c.def_property_readonly("metadata",
                            [](const Engine& self) { return py::str(std::string(self.cartridge().metadata.view())); });
    c.def("info", &info_of);
    bind_encode(c);
    bind_decode(c);
    bind_vocabulary(c);
    m.def("compile_tokenizer_json", &compile, py::arg("data"), py::arg("metadata") = "{}",
          py::arg("flavor") = "oniguruma");
    m.def(
        "verify_cartridge",
        [](const std::string& path) {
            const py::gil_scoped_release release;
            Engine::open(path, true);
        },
        py::arg("path"));
    m.def("cartridge_sections", &sections_of, py::arg("path"));
}

}  // namespace crayon::python
