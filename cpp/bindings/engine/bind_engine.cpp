// Binds Engine (opening, properties, vocabulary, decoding) and compiling.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <tuple>

#include "bindings/device/device_memory.h"
#include "bindings/inputs.h"
#include "crayon/compiler/certificate.h"
#include "crayon/compiler/compare_source.h"
#include "crayon/compiler/compiler.h"
#include "crayon/encode/run/thread_count.h"
#include "crayon/encode/sinks/batch.h"
#include "crayon/encode/sinks/columns.h"
#include "crayon/engine/working_memory.h"
#include "crayon/support/cores.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"

namespace crayon::python {
namespace {

using EnginePtr = std::shared_ptr<const Engine>;

py::dict info_of(const Engine& engine) {
    const Program& p = engine.cartridge().program();
    py::dict out;
    out["version"] = kVersion;
    out["revision"] = kRevision;
    const std::optional<Family> family = engine.family();
    out["family"] = family ? py::object(py::str(family_name(*family))) : py::none();
    out["tokens"] = engine.cartridge().has_text_tokens() ? "text" : "bytes";
    out["flavor"] = Flavor(p.flavor) == Flavor::oniguruma ? "oniguruma" : "rust_regex";
    out["longest_match"] = (p.flags & kLongestMatch) != 0;
    out["ignore_merges"] = (p.flags & kIgnoreMerges) != 0;
    out["vocab_size"] = engine.vocabulary_size(true);
    out["model_size"] = p.model_size;
    out["merges"] = p.n_merges;
    out["added_tokens"] = engine.added_tokens().size();
    out["max_token_bytes"] = p.max_token_bytes;
    out["file_size"] = engine.cartridge().file().size;
    out["cpu"] = crayon::cpu_level_name(engine.kernels().level);
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

// Converts the Python argument `verify`: True, False or "memory".
Checks checks_from(const py::object& verify) {
    if (py::isinstance<py::str>(verify)) {
        if (py::cast<std::string>(verify) == "memory") return Checks::memory;
        throw py::value_error("verify is \"" + py::cast<std::string>(verify) +
                              "\", expected True, False or \"memory\"");
    }
    return py::cast<bool>(verify) ? Checks::whole : Checks::header;
}

py::list sections_of(const py::object& path) {
    const Cartridge cartridge = open_cartridge(path_from(path));
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

py::bytes put_certificate(const py::bytes& cartridge, const std::optional<py::str>& certificate) {
    const std::string_view file(cartridge);
    std::optional<std::string_view> text;
    if (certificate) {
        Py_ssize_t size = 0;
        const char* const data = PyUnicode_AsUTF8AndSize(certificate->ptr(), &size);
        if (data == nullptr) throw py::error_already_set();  // a lone surrogate: UnicodeEncodeError, a ValueError
        text.emplace(data, size_t(size));
    }
    std::string out;
    {
        const py::gil_scoped_release release;
        out = with_certificate(file, text);
    }
    return out;
}

// Whether to skip ids that the vocabulary does not have.
bool skips_unknown(const std::string& unknown_ids) {
    if (unknown_ids == "skip") return true;
    if (unknown_ids == "error") return false;
    throw py::value_error("unknown_ids is \"" + unknown_ids + "\", expected \"error\" or \"skip\"");
}

void bind_decode(EngineClass& c) {
    c.def(
        "decode",
        [](const Engine& self, py::object ids, bool skip, const std::string& unknown_ids) {
            const Ids list = ids_from(ids);
            const bool skip_unknown = skips_unknown(unknown_ids);
            DecodedText text;
            {
                const MaybeRelease release(list.view.size);
                self.decode(list.view, skip, skip_unknown, &text);
            }
            return str_of(text);
        },
        py::arg("ids"), py::arg("skip_special_tokens") = true, py::arg("unknown_ids") = "error");
    c.def(
        "decode_bytes",
        [](const Engine& self, py::object ids, bool skip) {
            const Ids list = ids_from(ids);
            std::string bytes;
            {
                const MaybeRelease release(list.view.size);
                self.decode_bytes(list.view, skip, false, &bytes);
            }
            return py::bytes(bytes);
        },
        py::arg("ids"), py::arg("skip_special_tokens") = false);
    c.def(
        "decode_batch",
        [](const Engine& self, const py::iterable& sequences, bool skip, size_t threads,
           const std::string& unknown_ids) {
            std::vector<Ids> lists;
            GilYield turns;
            for (const py::handle item : sequences) {
                lists.push_back(ids_from(item));
                turns.pass(lists.size());
            }
            std::vector<IdView> views;
            views.reserve(lists.size());
            for (const Ids& list : lists) views.push_back(list.view);
            const bool skip_unknown = skips_unknown(unknown_ids);
            py::list out(lists.size());
            size_t n_ids = 0;
            for (const IdView& view : views) n_ids += view.size + 16;
            const MaybeRelease release(n_ids);
            decode_each(self, views, skip, skip_unknown, threads,
                        [&](size_t first, const DecodedText* texts, size_t n) {
                            const py::gil_scoped_acquire acquire;
                            for (size_t i = 0; i < n; ++i)
                                PyList_SET_ITEM(out.ptr(), py::ssize_t(first + i), str_of(texts[i]).release().ptr());
                        });
            return out;
        },
        py::arg("sequences"), py::arg("skip_special_tokens") = true, py::arg("threads") = 0,
        py::arg("unknown_ids") = "error");
}

struct AddedFlagName {
    const char* name;
    uint32_t bit;
};
constexpr AddedFlagName kAddedFlags[] = {{"single_word", kSingleWord},
                                         {"lstrip", kLstrip},
                                         {"rstrip", kRstrip},
                                         {"normalized", kNormalized},
                                         {"special", kSpecialToken}};

std::vector<AddedTokenSpec> added_tokens_from(const py::list& rows) {
    std::vector<AddedTokenSpec> out;
    for (const py::handle row : rows) {
        AddedTokenSpec token{row["id"].cast<uint32_t>(), 0, row["content"].cast<std::string>()};
        for (const AddedFlagName& flag : kAddedFlags)
            if (row[flag.name].cast<bool>()) token.flags |= flag.bit;
        if (row.contains("respelled") && row["respelled"].cast<bool>()) token.flags |= kRespelled;
        out.push_back(std::move(token));
    }
    return out;
}

void bind_vocabulary(EngineClass& c) {
    c.def(
        "id_to_bytes",
        [](const Engine& self, int64_t id) -> py::object {
            if (!self.has_id(id)) return py::none();
            return py::bytes(self.id_to_bytes(uint32_t(id)));
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
        "vocabulary_json",
        [](const Engine& self, bool pretty) -> py::object {
            std::optional<std::string> text;
            {
                py::gil_scoped_release release;
                text = self.vocabulary_json(pretty);
            }
            return text ? py::object(py::bytes(*text)) : py::none();
        },
        py::arg("pretty"));
    c.def("added_tokens", [](const Engine& self) {
        py::list out;
        for (const AddedTokenSpec& token : self.added_tokens()) {
            py::dict row;
            row["id"] = token.id;
            row["content"] = token.content;
            for (const AddedFlagName& flag : kAddedFlags) row[flag.name] = (token.flags & flag.bit) != 0;
            out.append(row);
        }
        return out;
    });
}

}  // namespace

void bind_engine(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    EngineClass c(m, "Engine");
    const auto mutable_ptr = [](EnginePtr engine) { return std::const_pointer_cast<Engine>(std::move(engine)); };
    c.def_static(
        "open",
        [mutable_ptr](const py::object& path, const py::object& verify,
                      const std::optional<std::tuple<uint64_t, int64_t, int64_t, uint64_t, uint64_t>>& verified) {
            const std::string name = path_from(path);
            std::optional<FileIdentity> known;
            if (verified) {
                const auto& [size, modified_ns, changed_ns, inode, device] = *verified;
                known = FileIdentity{size, modified_ns, changed_ns, inode, device};
            }
            const Checks checks = checks_from(verify);
            const py::gil_scoped_release release;
            return mutable_ptr(Engine::open(name, checks, known));
        },
        py::arg("path"), py::arg("verify") = false, py::arg("verified") = py::none());
    c.def_static(
        "from_bytes",
        [mutable_ptr](const py::bytes& data, const py::object& verify) {
            const std::string_view bytes(data);
            const Checks checks = checks_from(verify);
            const py::gil_scoped_release release;
            return mutable_ptr(Engine::from_bytes(bytes, checks));
        },
        py::arg("data"), py::arg("verify") = true);
    c.def(
        "with_components",
        [mutable_ptr](const Engine& self, const std::string& components, const py::object& added) {
            const std::vector<AddedTokenSpec> tokens =
                added.is_none() ? self.added_tokens() : added_tokens_from(py::list(added));
            const py::gil_scoped_release release;
            return mutable_ptr(self.with_components(components, tokens));
        },
        py::arg("components"), py::arg("added_tokens") = py::none());
    c.def_property_readonly("mode", [](const Engine& self) { return self.is_greedy() ? "greedy" : "exact"; });
    c.def(
        "greedy",
        [mutable_ptr](const Engine& self, const std::optional<std::pair<uint32_t, uint32_t>>& unknown) {
            const py::gil_scoped_release release;
            if (!unknown) return mutable_ptr(self.greedy());
            return mutable_ptr(self.greedy(UnknownIds{unknown->first, unknown->second}));
        },
        py::arg("unknown") = py::none());
    c.def(
        "longest_match",
        [](const Engine& self, const py::bytes& data, size_t start) {
            return self.longest_match(std::string_view(data), start);
        },
        py::arg("data"), py::arg("start") = 0);
    c.def_property_readonly("components", [](const Engine& self) { return py::str(std::string(self.components())); });
    c.def_property_readonly("cpu", [](const Engine& engine) { return crayon::cpu_level_name(engine.kernels().level); });
    c.def_property_readonly("source_digest",
                            [](const Engine& self) { return hex(self.cartridge().header().source_digest, 32); });
    c.def_property_readonly("metadata",
                            [](const Engine& self) { return py::str(std::string(self.cartridge().metadata.view())); });
    c.def_property_readonly("certificate", [](const Engine& self) -> py::object {
        const std::optional<std::string> text = certificate_of(self.cartridge());
        return text ? py::object(py::str(text->data(), text->size())) : py::none();
    });
    c.def(
        "mismatch",
        [](const Engine& self, const py::bytes& tokenizer_json) -> std::optional<std::string> {
            const std::string_view text(tokenizer_json);
            const py::gil_scoped_release release;
            std::string found = find_mismatch(self.cartridge(), text);
            return found.empty() ? std::nullopt : std::optional<std::string>(std::move(found));
        },
        py::arg("tokenizer_json"));
    c.def("info", &info_of);
    bind_encode(c);
    bind_columns(c);
    bind_ranges(m, c);
    bind_budgets(m, c);
    bind_trace(m, c);
    bind_decode(c);
    bind_vocabulary(c);
    bind_quick(m, c);
    bind_tokens(c);
    bind_model_vocabulary(c);
    m.def("compile_tokenizer_json", &compile, py::arg("data"), py::arg("metadata") = "{}",
          py::arg("flavor") = "oniguruma");
    testing.def(
        "verify_cartridge",
        [](const py::object& path) {
            const std::string name = path_from(path);
            const py::gil_scoped_release release;
            Engine::open(name, Checks::whole);
        },
        py::arg("path"));
    py::enum_<Engine::MergeWay>(testing, "MergeWay")
        .value("usual", Engine::MergeWay::usual)
        .value("together", Engine::MergeWay::together)
        .value("heap", Engine::MergeWay::heap);
    testing.def(
        "merge_pretoken",
        [](const Engine& engine, const py::bytes& pretoken, Engine::MergeWay way) {
            const std::string_view bytes(pretoken);
            IdBuffer ids;
            {
                const py::gil_scoped_release release;
                const Engine::Lease lease(engine);
                engine.merge_pretoken(bytes, way, *lease, &ids);
            }
            return list_of_ids(ids.data(), ids.size());
        },
        py::arg("engine"), py::arg("pretoken"), py::arg("way"));
    testing.def(
        "cuts", [](const Engine& engine, const py::bytes& pretoken) { return engine.cuts(std::string_view(pretoken)); },
        py::arg("engine"), py::arg("pretoken"));
    testing.def(
        "decode_strings",
        [](const Engine& engine, const py::object& ids, bool skip, const std::string& unknown_ids) {
            const Ids list = ids_from(ids);
            std::string text;
            engine.decode_strings(list.view, skip, skips_unknown(unknown_ids), &text);
            return py::str(text);
        },
        py::arg("engine"), py::arg("ids"), py::arg("skip_special_tokens") = true, py::arg("unknown_ids") = "error");
    m.def(
        "trim",
        [] {
            const py::gil_scoped_release release;
            free_working_memory();
            trim_devices();
        },
        "Free the memory that all tokenizers keep between calls.\n\nTokenizers keep caches of words, up to 64 MiB plus "
        "16 MiB per core in all, and drop words that are unused for a minute. On a device they also keep the memory of "
        "earlier batches. After this call the next calls are slower until the caches fill again. It does not disturb "
        "running calls in other threads.\n\n>>> import crayon_hf\n>>> crayon_hf.trim()");
    m.def("working_memory", [] {
        const WorkingMemory memory = working_memory();
        py::dict out;
        out["bytes"] = memory.bytes;
        out["limit"] = memory.limit;
        out["scratches"] = memory.scratches;
        out["scratches_made"] = memory.made;
        return out;
    });
    testing.def("set_working_memory", &set_working_memory, py::arg("limit") = 0,
                py::arg("idle_milliseconds") = kIdleMilliseconds);
    testing.def(
        "ready_calls",
        [](const Engine& engine, const py::object& texts, bool waits_long) {
            TextBatch batch(texts, false);
            size_t calls = 0;
            batch.run([&](const std::vector<TextView>& views) {
                encode_each(engine, views, EncodeOptions(), 1, [&](const std::vector<ReadyIds>&) {
                    ++calls;
                    return waits_long;
                });
            });
            return calls;
        },
        py::arg("engine"), py::arg("texts"), py::arg("waits_long"));
    m.def("usable_cores", &usable_cores,
          "Return the number of cores that this process may use, by its affinity and its control group.");
    testing.def("core_quota", &core_quota, py::arg("root"));
    testing.def("thread_count", py::overload_cast<size_t, size_t>(&thread_count), py::arg("threads"), py::arg("bytes"));
    testing.def(
        "encoded_bytes",
        [](const Engine& engine, const py::object& first, const py::object& second, const py::object& truncation) {
            Texts kept(false);
            const std::vector<Bytes> texts = texts_of(first, &kept);
            std::vector<Bytes> pairs;
            if (!second.is_none()) pairs = texts_of(second, &kept);
            EncodeOptions options;
            options.truncation = truncation_of(truncation);
            return encode_columns(engine, texts, second.is_none() ? nullptr : &pairs, options, 1)->encoded_bytes();
        },
        py::arg("engine"), py::arg("first"), py::arg("second"), py::arg("truncation"));
    m.def("with_certificate", &put_certificate, py::arg("cartridge"), py::arg("certificate"));
    m.def("cartridge_sections", &sections_of, py::arg("path"));
}

}  // namespace crayon::python
