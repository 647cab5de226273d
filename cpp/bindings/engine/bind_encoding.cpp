#include <pybind11/stl.h>

#include <limits>
#include <optional>

#include "bindings/engine/quick.h"
#include "crayon/post/post_process.h"
#include "crayon/support/error.h"
#include "post/post_process_json.h"

namespace crayon::python {
namespace {

template <typename T>
py::list list_of(const std::vector<T>& values) {
    py::list out(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = py::int_(values[i]);
    return out;
}

// Returns a list of the values, with None for negative ones.
py::list list_with_none(const std::vector<int32_t>& values) {
    py::list out(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = values[i] < 0 ? py::object(py::none()) : py::int_(values[i]);
    return out;
}

// Building a list of this many tokens or more lets other threads run. It therefore reads a copy of the Encoding.
constexpr size_t kManyTokens = size_t(1) << 16;

py::list tokens_of(const PyEncoding& self) {
    const Encoding& encoding = self.front();
    py::list out(encoding.size());
    const auto put = [&](size_t i, const std::string& text) { out[i] = py::str(text); };
    if (encoding.size() < kManyTokens) {
        for_each_text(encoding, strings_of(self), put);
        return out;
    }
    Encoding copy;
    copy.ids = encoding.ids;
    copy.texts = encoding.texts;
    const PyEncoding own(std::move(copy), self.engine());
    GilYield turns;
    for_each_text(own.encoding(), strings_of(own), [&](size_t i, const std::string& text) {
        put(i, text);
        turns.pass(i);
    });
    return out;
}

py::list offsets_of(const PyEncoding& self) {
    const std::vector<Offset>& offsets = self.front().offsets;
    py::list out(offsets.size());
    const auto put = [&](size_t i, const Offset& offset) { out[i] = py::make_tuple(offset.start, offset.end); };
    if (offsets.size() < kManyTokens) {
        for (size_t i = 0; i < offsets.size(); ++i) put(i, offsets[i]);
        return out;
    }
    const std::vector<Offset> own(offsets);
    GilYield turns(true);
    for (size_t i = 0; i < own.size(); ++i) {
        put(i, own[i]);
        turns.pass(i);
    }
    return out;
}

py::list overflowing_of(const PyEncoding& self) {
    std::vector<Encoding> all = self.encoding().overflowing;  // making objects may release the lock
    py::list out(all.size());
    for (size_t i = 0; i < all.size(); ++i) out[i] = new_encoding(PyEncoding{std::move(all[i]), self.engine()});
    return out;
}

// Converts an object to an unsigned integer. Other values raise the reference's errors.
template <typename T = size_t>
T number_from(py::handle object) {
    if (PyLong_CheckExact(object.ptr())) {  // three times faster for common values
        int overflow = 0;
        const long small = PyLong_AsLongAndOverflow(object.ptr(), &overflow);
        if (overflow == 0 && small >= 0 && small <= INT32_MAX) return T(small);
    }
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
    if (!index) throw py::error_already_set();
    const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (value > std::numeric_limits<T>::max()) {
        PyErr_SetString(PyExc_OverflowError, "number too large to fit in target type");
        throw py::error_already_set();
    }
    return T(value);
}

std::string text_from(py::handle object) {
    if (!PyUnicode_Check(object.ptr())) throw py::type_error(type_name(object) + " is not an instance of 'str'");
    return py::cast<std::string>(object);
}

PyEncoding& encoding_from(py::handle object) {
    if (PyObject_TypeCheck(object.ptr(), encoding_type) == 0)  // does not accept the reference's Encoding, unlike
                                                               // isinstance()
        throw py::type_error(type_name(object) + " is not an instance of 'Encoding'");
    PyEncoding* const encoding = value_of<PyEncoding>(object.ptr());
    if (encoding == nullptr) throw py::type_error("Encoding.__init__() was not called");
    return *encoding;
}

// Wraps a method of Encoding: on free-threaded CPython it runs under the object's lock.
template <typename Result, typename Self, typename... Arguments>
auto locked(Result (*work)(Self, Arguments...)) {
    return [work](py::handle self, Arguments... arguments) -> Result {
        Self encoding = encoding_from(self);
        const py::scoped_critical_section lock(self);
        return work(encoding, std::forward<Arguments>(arguments)...);
    };
}

// Returns the engine that all encodings have, or null if they have several.
std::shared_ptr<const Engine> common_engine(const py::tuple& encodings) {
    std::shared_ptr<const Engine> common;
    for (size_t i = 0; i < encodings.size(); ++i) {
        const py::object item = encodings[i];
        const py::scoped_critical_section lock(item);
        const std::shared_ptr<const Engine>& engine = encoding_from(item).engine();
        if (i == 0) common = engine;
        if (engine != common) return nullptr;
    }
    return common;
}

PyEncoding merge(py::handle encodings, py::handle growing_offsets) {
    if (!PySequence_Check(encodings.ptr()) || PyUnicode_Check(encodings.ptr()))
        throw py::type_error(type_name(encodings) + " is not a sequence of 'Encoding'");
    if (!PyBool_Check(growing_offsets.ptr()))
        throw py::type_error(type_name(growing_offsets) + " is not an instance of 'bool'");
    const py::tuple items(py::reinterpret_borrow<py::object>(encodings));
    for (const py::handle item : items) (void)encoding_from(item);
    PyEncoding out{Encoding(), common_engine(items)};
    for (const py::handle item : items)
        append(&out.encoding(), encoding_for(item, out.engine()), growing_offsets.ptr() == Py_True);
    return out;
}

void pad_encoding(PyEncoding& self, py::handle length, const py::kwargs& options) {
    Padding padding;
    for (const auto& [key, value] : options) {
        const std::string name = text_from(key);
        if (name == "direction")
            padding.side = padding_side(text_from(value));
        else if (name == "pad_id")
            padding.pad_id = int32_t(number_from<uint32_t>(value));
        else if (name == "pad_type_id")
            padding.pad_type_id = number_from<uint32_t>(value);
        else if (name == "pad_token")
            padding.pad_token = text_from(value);
        else
            py::print("Ignored unknown kwarg option " + name);  // the reference's message
    }
    const size_t size = number_from(length);
    pad(&self.encoding(), size, padding);
}

void truncate_encoding(PyEncoding& self, py::handle max_length, py::handle stride, py::handle direction) {
    const size_t length = number_from(max_length), overlap = number_from(stride);
    const Side side = truncation_side(text_from(direction));
    truncate(&self.encoding(), length, overlap, side);
}

py::bytes state_of(const PyEncoding& self) {
    return to_json(self.encoding(), strings_of(self));
}

void set_state(PyEncoding& self, const py::bytes& state) {
    try {
        self = {encoding_from_json(std::string_view(state)), nullptr};
    } catch (const Error& error) {
        throw Error(ErrorKind::argument, std::string("Error while attempting to unpickle Encoding: ") + error.what());
    }
}

py::list type_ids_of(const PyEncoding& self) {
    return list_of(self.front().type_ids);
}

py::list attention_mask_of(const PyEncoding& self) {
    return list_of(self.front().attention);
}

py::list special_tokens_mask_of(const PyEncoding& self) {
    return list_of(self.front().special);
}

py::list word_ids_of(const PyEncoding& self) {
    return list_with_none(self.front().words);
}

py::list words_of(const PyEncoding& self) {
    const char* message = "Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead.";
    if (PyErr_WarnEx(PyExc_DeprecationWarning, message, 1) != 0) throw py::error_already_set();
    return word_ids_of(self);
}

py::list sequence_ids_of(const PyEncoding& self) {
    return list_with_none(sequence_ids(self.front()));
}

py::int_ n_sequences_of(const PyEncoding& self) {
    return n_sequences(self.front());
}

template <auto read>
PyObject* get(PyObject* self, void*) {
    const PyEncoding* const encoding = value_of<PyEncoding>(self);
    if (encoding != nullptr) {
        const py::scoped_critical_section lock(self);
        return guarded([&] { return py::object(read(*encoding)).release().ptr(); });
    }
    PyErr_SetString(PyExc_TypeError, "Encoding.__init__() was not called");
    return nullptr;
}

template <auto read>
void bind_property(EncodingClass& c, const char* name, const char* doc) {
    static PyGetSetDef def{name, &get<read>, nullptr, doc, nullptr};
    const auto made =
        py::reinterpret_steal<py::object>(PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(c.ptr()), &def));
    if (!made) throw py::error_already_set();
    py::setattr(c, name, made);
}

void bind_lists(EncodingClass& c) {
    bind_property<&ids_of>(c, "ids", "Token ids.");
    bind_property<&tokens_of>(c, "tokens", "The tokens as the vocabulary spells them.");
    bind_property<&offsets_of>(c, "offsets", "(start, end) of each token in the input text, in characters.");
    bind_property<&type_ids_of>(c, "type_ids", "0 for the first sequence of a pair, 1 for the second.");
    bind_property<&attention_mask_of>(c, "attention_mask", "1 for a token, 0 for padding.");
    bind_property<&special_tokens_mask_of>(c, "special_tokens_mask",
                                           "1 for a token that a post-processor or padding added, else 0.");
    bind_property<&word_ids_of>(c, "word_ids", "The number of each token's word; None for special tokens.");
    bind_property<&words_of>(c, "words", "As word_ids.");
    bind_property<&sequence_ids_of>(c, "sequence_ids",
                                    "The sequence that each token is from: 0 or 1; None for special tokens.");
    bind_property<&n_sequences_of>(c, "n_sequences", "1, or 2 for a pair.");
    bind_property<&overflowing_of>(c, "overflowing",
                                   "The Encodings that truncation cut off, each with at most `max_length` tokens.");
}

template <typename Found>
py::object as_python(const Found& found) {
    if constexpr (std::is_integral_v<Found>) {
        return py::int_(found);
    } else {
        const auto& [first, second] = found;
        return py::make_tuple(first, second);
    }
}

// The Python method for one of the lookups in encoding.h. It passes `find` a number of type Index and, if `find` takes
// it, the index of a sequence.
template <auto find, typename Index = size_t>
struct LookUp {
    static constexpr bool kInSequence = std::is_invocable_v<decltype(find), const Encoding&, Index, size_t>;
    static inline const char* argument;

    // Converts the numbers first, because that can call Python code.
    static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
        return guarded([&]() -> PyObject* {
            PyObject* given[] = {nullptr, nullptr};
            const bool are_known = kInSequence ? take_arguments(args, n, names, {argument, "sequence_index"}, given)
                                               : take_arguments(args, n, names, {argument}, given);
            if (!are_known || given[0] == nullptr)
                throw py::type_error("expected (" + std::string(argument) +
                                     (kInSequence ? ", sequence_index=0)" : ")"));
            const PyEncoding& encoding = encoding_from(self);
            const auto index = number_from<Index>(given[0]);
            const size_t sequence = given[1] == nullptr ? 0 : number_from(given[1]);
            const py::scoped_critical_section lock(self);
            const auto found = [&] {
                if constexpr (kInSequence)
                    return find(encoding.front(), index, sequence);
                else
                    return find(encoding.front(), index);
            }();
            if (!found) Py_RETURN_NONE;
            return as_python(*found).release().ptr();
        });
    }

    static void bind(EncodingClass& c, const char* name, const char* its_argument, const char* doc) {
        argument = its_argument;
        set_method(
            c, name, &call,
            std::string(name) + "($self, " + argument + (kInSequence ? ", sequence_index=0" : "") + ")\n--\n\n" + doc);
    }
};

void bind_lookups(EncodingClass& c) {
    LookUp<&word_to_tokens, uint32_t>::bind(
        c, "word_to_tokens", "word_index",
        "The range of tokens of a word of a sequence, (first, last + 1); None for an unknown word.");
    LookUp<&word_to_chars, uint32_t>::bind(
        c, "word_to_chars", "word_index",
        "The characters of a word of a sequence, (start, end); None for an unknown word.");
    LookUp<&token_to_sequence>::bind(
        c, "token_to_sequence", "token_index",
        "The sequence of a token, 0 or 1; None for a special token or an index out of range.");
    LookUp<&token_to_chars>::bind(
        c, "token_to_chars", "token_index",
        "The characters of a token in its sequence, (start, end); None as from `token_to_sequence`.");
    LookUp<&token_to_word>::bind(c, "token_to_word", "token_index",
                                 "The word of a token in its sequence; None as from `token_to_sequence`.");
    LookUp<&char_to_token>::bind(c, "char_to_token", "char_pos",
                                 "The token that contains a character of a sequence; None if no token does.");
    LookUp<&char_to_word>::bind(c, "char_to_word", "char_pos",
                                "The word that contains a character of a sequence; None if no word does.");
}

Py_ssize_t length_of(PyObject* self) {
    const PyEncoding* const encoding = value_of<PyEncoding>(self);
    const py::scoped_critical_section lock(self);
    if (encoding != nullptr) return Py_ssize_t(encoding->ids().size());
    PyErr_SetString(PyExc_TypeError, "Encoding.__init__() was not called");
    return -1;
}

// isinstance() is also true for the reference's encodings, which delegated tokenizers return.
py::object type_of_encodings() {
    const auto base =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(py::detail::get_internals().default_metaclass));
    py::dict names;
    names["__instancecheck__"] = py::cpp_function(
        [](py::handle type, py::handle object) {
            const py::handle types(reinterpret_cast<PyObject*>(&PyType_Type));
            const bool is_theirs = type.is(py::type::of<PyEncoding>()) &&
                                   std::string_view(Py_TYPE(object.ptr())->tp_name) == "tokenizers.Encoding";
            return is_theirs || py::cast<bool>(types.attr("__instancecheck__")(type, object));
        },
        py::name("__instancecheck__"), py::is_method(base));
    const py::handle types(reinterpret_cast<PyObject*>(&PyType_Type));
    return types("EncodingType", py::make_tuple(base), names);
}

// Makes isinstance() of the reference's class true, too, if the program has imported the reference.
PyObject* class_of(PyObject* self, void*) {
    return guarded([&] {
        py::object type = py::type::of(self);
        const auto library = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("tokenizers").ptr()));
        PyErr_Clear();
        return (library ? py::getattr(library, "Encoding", type) : type).release().ptr();
    });
}

// Adds __class__, __len__ and __dict__, without the garbage collector's header that py::dynamic_attr adds. A batch
// makes thousands of encodings, and hardly any is part of a cycle.
void add_slots(PyHeapTypeObject* heap_type) {
    static PyGetSetDef attributes[] = {
        {"__class__", &class_of, nullptr, "The class, or the one of the tokenizers library.", nullptr},
        {"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr}};
    PyTypeObject& type = heap_type->ht_type;
    type.tp_dictoffset = type.tp_basicsize;
    type.tp_basicsize += Py_ssize_t(sizeof(PyObject*));
    type.tp_getset = attributes;
    heap_type->as_sequence.sq_length = &length_of;
}

// Binds truncation, post-processing and padding as functions, for tests and tools.
void bind_steps(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    const auto read = [](const std::string& component) {
        const json::Document document = json::parse(component);
        return read_post_processor(document.root);
    };
    testing.def(
        "post_process_encodings",
        [read](const std::string& component, py::handle first, py::handle pair, bool special) {
            // Both encodings hold all their token strings, so trimming uses these and no vocabulary.
            Encoding a = encoding_for(first, nullptr), b;
            if (!pair.is_none()) b = encoding_for(pair, nullptr);
            const PostProcessor processor = component == "null" ? PostProcessor() : read(component);
            return PyEncoding{
                post_process(processor, TrimInfo(), std::move(a), !pair.is_none() ? &b : nullptr, special), nullptr};
        },
        py::arg("component"), py::arg("encoding"), py::arg("pair") = py::none(), py::arg("add_special_tokens") = true);
    testing.def(
        "count_special_tokens",
        [read](const std::string& component, bool is_pair) { return count_added_tokens(read(component), is_pair); },
        py::arg("component"), py::arg("is_pair"));
    testing.def(
        "special_frames",
        [read](const std::string& component) {
            const auto list = [](const std::vector<SpecialId>& run) {
                py::list out;
                for (const SpecialId& special : run) out.append(py::make_tuple(special.id, special.type_id));
                return out;
            };
            const PostProcessor processor = component == "null" ? PostProcessor() : read(component);
            py::object one = py::none(), two = py::none();
            if (const auto all = surrounds_of(processor, false)) {
                const auto& [bare, special] = *all;
                one = py::make_tuple(list(special.before), list(special.after), special.type_ids[0], bare.type_ids[0]);
            }
            if (const auto all = surrounds_of(processor, true)) {
                const auto& [bare, special] = *all;
                two = py::make_tuple(list(special.before), list(special.between), list(special.after),
                                     py::make_tuple(special.type_ids[0], special.type_ids[1]),
                                     py::make_tuple(bare.type_ids[0], bare.type_ids[1]));
            }
            return py::make_tuple(one, two);
        },
        py::arg("component"),
        "Return the special ids around a single sequence and around a pair, if the post-processor only adds such ids.");
    testing.def(
        "truncate_encodings",
        [](PyEncoding& first, PyEncoding* pair, size_t max_length, size_t stride, const std::string& strategy,
           const std::string& direction, size_t added) {
            const Truncation truncation{max_length, stride, truncation_strategy(strategy), truncation_side(direction)};
            truncate(&first.encoding(), pair != nullptr ? &pair->encoding() : nullptr, truncation,
                     truncation.max_length - added);
        },
        py::arg("encoding"), py::arg("pair") = py::none(), py::arg("max_length") = 512, py::arg("stride") = 0,
        py::arg("strategy") = "longest_first", py::arg("direction") = "right", py::arg("added") = 0);
    testing.def(
        "pad_encodings",
        [](const std::vector<PyEncoding*>& encodings, const std::optional<size_t>& length, size_t multiple_of,
           const std::string& direction) {
            Padding padding;
            padding.is_fixed = length.has_value();
            padding.length = length.value_or(0);
            padding.multiple_of = multiple_of;
            padding.side = padding_side(direction);
            std::vector<Encoding> all;
            for (const PyEncoding* encoding : encodings) all.push_back(encoding->encoding());
            pad(&all, padding);
            for (size_t i = 0; i < all.size(); ++i) encodings[i]->encoding() = std::move(all[i]);
        },
        py::arg("encodings"), py::arg("length") = py::none(), py::arg("multiple_of") = 0,
        py::arg("direction") = "right");
}

}  // namespace

py::list ids_of(const PyEncoding& self) {
    const std::vector<int32_t>& ids = self.ids();
    return list_of_ids(ids.data(), ids.size());
}

TokenStringOf strings_of(const PyEncoding& self) {
    return [engine = self.engine().get()](uint32_t id) { return engine != nullptr ? engine->id_to_token(id) : ""; };
}

Encoding encoding_for(py::handle object, const std::shared_ptr<const Engine>& engine) {
    const PyEncoding& encoding = encoding_from(object);
    const py::scoped_critical_section lock(object);
    Encoding out = encoding.encoding();
    if (engine == nullptr || encoding.engine() != engine) own_texts(&out, strings_of(encoding));
    return out;
}

Side truncation_side(const std::string& name) {
    if (name != "left" && name != "right") throw py::value_error("Invalid truncation direction value : " + name);
    return name == "left" ? Side::left : Side::right;
}

Side padding_side(const std::string& name) {
    if (name != "left" && name != "right")
        throw py::value_error("Unknown `direction`: `" + name + "`. Use one of `left` or `right`");
    return name == "left" ? Side::left : Side::right;
}

Truncation::Strategy truncation_strategy(const std::string& name) {
    if (name == "longest_first") return Truncation::Strategy::longest_first;
    if (name == "only_first") return Truncation::Strategy::only_first;
    if (name == "only_second") return Truncation::Strategy::only_second;
    throw py::value_error("Unknown `strategy`: `" + name +
                          "`. Use one of `longest_first`, `only_first`, or `only_second`");
}

constexpr const char* kEncodingDoc = R"(One encoded input: parallel lists with one element per token.

    The interface of ``tokenizers.Encoding``. A method that takes a position returns None if nothing is there.

    >>> encoding = crayon_hf.Tokenizer.from_profile("lite").encode("Hello, world!")
    >>> encoding.tokens, encoding.char_to_token(7)
    (['Hello', ',', 'Ġworld', '!'], 2)
    )";

void bind_encoding(py::module_& m) {
    EncodingClass c(m, "Encoding", kEncodingDoc, py::metaclass(type_of_encodings()), py::custom_type_setup(&add_slots));
    encoding_type = reinterpret_cast<PyTypeObject*>(c.ptr());
    c.def(py::init<>());
    bind_lists(c);
    bind_lookups(c);
    c.def_static("merge", &merge, py::arg("encodings"), py::arg("growing_offsets") = true);
    c.def("set_sequence_id", locked(+[](PyEncoding& self, py::handle sequence) {
              const size_t id = number_from(sequence);
              set_sequence(&self.encoding(), id);
          }),
          py::arg("sequence_id"), "Mark all tokens as part of the sequence `sequence_id`.");
    c.def("pad", locked(&pad_encoding), py::arg("length"),
          "Pad to `length` tokens with `pad_id`, `pad_type_id` and `pad_token` at the side `direction` (\"right\" or "
          "\"left\").");
    c.def("truncate", locked(&truncate_encoding), py::arg("max_length"), py::arg("stride") = 0,
          py::arg("direction") = "right",
          "Keep `max_length` tokens. `overflowing` gets the others, in windows that share `stride` tokens. `direction` "
          "is the side to cut.");
    c.def("__repr__", locked(+[](const PyEncoding& self) {
              return "Encoding(num_tokens=" + std::to_string(self.ids().size()) +
                     ", attributes=[ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing])";
          }));
    c.def("__copy__", locked(+[](const PyEncoding& self) { return PyEncoding(self); }));
    c.def("__deepcopy__", locked(+[](const PyEncoding& self, py::handle) { return PyEncoding(self); }),
          py::arg("memo"));
    c.def("__getstate__", locked(&state_of));
    // pybind11 would take a function named __setstate__ for a constructor and not call it on existing objects.
    c.attr("__setstate__") =
        py::cpp_function(locked(&set_state), py::name("set_state"), py::is_method(c), py::arg("state"));
    c.def("__reduce__",
          [](py::handle self) { return py::make_tuple(py::type::of(self), py::tuple(), self.attr("__getstate__")()); });
    bind_steps(m);
}

}  // namespace crayon::python
