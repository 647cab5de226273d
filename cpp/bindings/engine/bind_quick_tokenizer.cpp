// The calls of crayon_hf.Tokenizer that take less time than a function of Python does. As in bind_quick.cpp each takes
// the usual arguments of a tokenizer whose engine is native and ready, and gives all others to the method of Python.
#include <algorithm>

#include "bindings/engine/quick.h"

namespace crayon::python {
namespace {

// Of the state of a tokenizer, of a component that somebody may hold, and of added tokens.
struct StateSlots {
    Slot handed, live, parts, added, component, decoder;
};
StateSlots state_slots;

// What arguments are when they are not given.
struct Defaults {
    PyObject* zero = PyLong_FromLong(0);
    PyObject* longest_first = interned("longest_first");
    PyObject* right = interned("right");
    PyObject* pad = interned("[PAD]");
};

const Defaults& defaults() {
    static const Defaults made;
    return made;
}

Bound encode_bound, decode_bound, id_to_token_bound, token_to_id_bound, vocab_size_bound, special_tokens_bound;
Bound enable_truncation_bound, no_truncation_bound, enable_padding_bound, no_padding_bound, added_decoder_bound;

PyObject* id_to_token(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 1 && PyLong_CheckExact(args[0])) {
        int overflow = 0;
        const long long id = PyLong_AsLongLongAndOverflow(args[0], &overflow);
        const Native engine(self);
        if (engine && overflow == 0 && engine->has_id(id))
            return guarded([&] { return py::str(engine->id_to_token(uint32_t(id))).release().ptr(); });
    }
    return id_to_token_bound.call(self, args, n, names);
}

PyObject* token_to_id(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 1 && PyUnicode_CheckExact(args[0])) {
        Py_ssize_t size = 0;
        const char* const data = PyUnicode_AsUTF8AndSize(args[0], &size);
        if (data == nullptr) PyErr_Clear();  // a lone surrogate
        const Native engine(self);
        if (engine && data != nullptr) {
            return guarded([&]() -> PyObject* {
                const int64_t id = engine->token_to_id({data, size_t(size)});
                if (id < 0) Py_RETURN_NONE;
                return PyLong_FromLongLong(id);
            });
        }
    }
    return token_to_id_bound.call(self, args, n, names);
}

// The keyword arguments of a call in the order of `known`, of which the first n are given already; false for others.
bool take_keywords(PyObject* const* args, Py_ssize_t n, PyObject* names, std::initializer_list<const char*> known,
                   PyObject** out) {
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
        size_t place = 0;
        for (const char* name : known) {
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) break;
            ++place;
        }
        if (place == known.size() || place < size_t(n)) return false;  // unknown, or given by its place as well
        out[place] = args[n + i];
    }
    return true;
}

// Of a text alone, neither truncated nor padded.
PyObject* encode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyObject* given[] = {nullptr, Py_None, Py_False, Py_True};
    if (n <= 4) std::copy_n(args, n, given);
    if (n <= 4 && take_keywords(args, n, names, {"sequence", "pair", "is_pretokenized", "add_special_tokens"}, given) &&
        given[0] != nullptr && given[1] == Py_None && given[2] == Py_False && PyBool_Check(given[3])) {
        const Native engine(self);
        const py::object as_text = tokenizer_slots.special_as_text.get(self);
        const auto is_none = [self](const Slot& slot) { return slot.get(self).is_none(); };
        if (engine && as_text && PyBool_Check(as_text.ptr()) && is_none(tokenizer_slots.truncation) &&
            is_none(tokenizer_slots.padding)) {
            EncodeOptions options;
            options.add_special_tokens = given[3] == Py_True;
            options.special_as_text = as_text.ptr() == Py_True;
            return guarded([&]() -> PyObject* {
                py::object made = quick_encoding(engine.object(), given[0], options);
                return made ? made.release().ptr() : encode_bound.call(self, args, n, names);
            });
        }
    }
    return encode_bound.call(self, args, n, names);
}

// Of ids that all have a token.
PyObject* decode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyObject* given[] = {nullptr, Py_True};
    if (n <= 2) std::copy_n(args, n, given);
    if (n <= 2 && take_keywords(args, n, names, {"ids", "skip_special_tokens"}, given) && given[0] != nullptr &&
        PyBool_Check(given[1])) {
        try {
            if (const Native engine(self); engine)
                return quick_text(engine.object(), given[0], given[1] == Py_True).release().ptr();
        } catch (const std::exception&) {  // which Python looks into
        }
    }
    return decode_bound.call(self, args, n, names);
}

PyObject* get_vocab_size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyObject* given[] = {n == 1 ? args[0] : Py_True};
    if (n <= 1 && take_keywords(args, n, names, {"with_added_tokens"}, given) && PyBool_Check(given[0])) {
        if (const Native engine(self); engine)
            return PyLong_FromUnsignedLong(engine->vocabulary_size(given[0] == Py_True));
    }
    return vocab_size_bound.call(self, args, n, names);
}

PyObject* num_special_tokens_to_add(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 1 && PyBool_Check(args[0])) {
        if (const Native engine(self); engine)
            return PyLong_FromSize_t(engine->special_tokens_added(args[0] == Py_True));
    }
    return special_tokens_bound.call(self, args, n, names);
}

PyObject* get_added_tokens_decoder(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 0) {
        const py::object state = tokenizer_slots.state.get(self);
        const py::object added = state ? state_slots.added.get(state.ptr()) : py::object();
        const py::object decoder = added && !added.is_none() ? state_slots.decoder.get(added.ptr()) : py::object();
        if (decoder && !decoder.is_none()) return PyObject_CallNoArgs(decoder.ptr());
    }
    return added_decoder_bound.call(self, args, n, names);
}

PyObject* set_to_none(PyObject* self, const Slot& slot) {
    if (!slot.set(self, Py_None)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* no_truncation(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names != nullptr || n != 0) return no_truncation_bound.call(self, args, n, names);
    return set_to_none(self, tokenizer_slots.truncation);
}

PyObject* no_padding(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names != nullptr || n != 0) return no_padding_bound.call(self, args, n, names);
    return set_to_none(self, tokenizer_slots.padding);
}

bool is_text(PyObject* object, const char* text) {
    return PyUnicode_CheckExact(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

bool is_side(PyObject* object) {
    return is_text(object, "right") || is_text(object, "left");
}

PyObject* truncation_type = nullptr;  // the tuples that Python has of both
PyObject* padding_type = nullptr;

// Sets an attribute to a named tuple: a tuple with names.
template <size_t N>
PyObject* set_tuple(PyObject* self, const Slot& slot, PyObject* type, PyObject* const (&values)[N]) {
    auto* const of = reinterpret_cast<PyTypeObject*>(type);
    PyObject* const made = of->tp_alloc(of, Py_ssize_t(N));
    if (made == nullptr) return nullptr;
    for (size_t i = 0; i < N; ++i) PyTuple_SET_ITEM(made, Py_ssize_t(i), py::handle(values[i]).inc_ref().ptr());
    const bool done = slot.set(self, made);
    Py_DECREF(made);
    if (!done) return nullptr;
    Py_RETURN_NONE;
}

PyObject* enable_truncation(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    const Defaults& known = defaults();
    PyObject* given[] = {n == 1 ? args[0] : nullptr, known.zero, known.longest_first, known.right};
    const Native engine(self);
    if (engine && n <= 1 && take_keywords(args, n, names, {"max_length", "stride", "strategy", "direction"}, given) &&
        given[0] != nullptr) {
        const auto& [max_length, stride, strategy, direction] = given;
        const long most = small_number(max_length), overlap = small_number(stride);
        const long room = most - long(engine->special_tokens_added(false));
        const bool is_strategy =
            is_text(strategy, "longest_first") || is_text(strategy, "only_first") || is_text(strategy, "only_second");
        if (most >= 0 && overlap >= 0 && is_strategy && is_side(direction) && (room < 0 || room >= overlap))
            return set_tuple(self, tokenizer_slots.truncation, truncation_type, given);
    }
    return enable_truncation_bound.call(self, args, n, names);
}

PyObject* enable_padding(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    const Defaults& known = defaults();
    PyObject* given[] = {Py_None, known.right, Py_None, known.zero, known.zero, known.pad};  // in the tuple's order
    if (n == 0 &&
        take_keywords(args, n, names,
                      {"length", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"}, given)) {
        const auto& [length, direction, multiple, id, type_id, token] = given;
        const auto is_size = [](PyObject* object) { return object == Py_None || small_number(object) >= 0; };
        Py_ssize_t size = 0;
        const bool is_token = PyUnicode_CheckExact(token) && PyUnicode_AsUTF8AndSize(token, &size) != nullptr;
        PyErr_Clear();  // of a lone surrogate
        if (is_size(length) && is_side(direction) && is_size(multiple) && small_number(id) >= 0 &&
            small_number(type_id) >= 0 && is_token)
            return set_tuple(self, tokenizer_slots.padding, padding_type, given);
    }
    return enable_padding_bound.call(self, args, n, names);
}

// A property of Python, and what it goes by: a slot, or the name of a component.
struct Property {
    PyObject* property;  // never freed, like the type that it belongs to
    const Slot* slot;
    PyObject* key;
};

int set_as_python_does(PyObject* self, PyObject* value, void* closure) {
    PyObject* const property = static_cast<const Property*>(closure)->property;
    return Py_TYPE(property)->tp_descr_set(property, self, value);
}

PyObject* get_as_python_does(PyObject* self, void* closure) {
    PyObject* const property = static_cast<const Property*>(closure)->property;
    return Py_TYPE(property)->tp_descr_get(property, self, reinterpret_cast<PyObject*>(Py_TYPE(self)));
}

// Truncation or padding: None where there is none, else what the property of Python gives.
PyObject* setting(PyObject* self, void* closure) {
    const py::object found = static_cast<const Property*>(closure)->slot->get(self);
    if (found && found.is_none()) Py_RETURN_NONE;
    return get_as_python_does(self, closure);
}

void replace_property(py::handle type, const char* name, const Slot* slot, getter get) {
    py::object before = py::getattr(type, name);
    static std::vector<std::unique_ptr<PyGetSetDef>> defs;  // live as long as the type
    static std::vector<std::unique_ptr<Property>> properties;
    static std::vector<std::unique_ptr<std::string>> docs;
    docs.push_back(std::make_unique<std::string>(py::str(before.attr("__doc__")).cast<std::string>()));
    properties.push_back(std::make_unique<Property>(Property{before.release().ptr(), slot, interned(name)}));
    defs.push_back(std::make_unique<PyGetSetDef>(
        PyGetSetDef{name, get, &set_as_python_does, docs.back()->c_str(), properties.back().get()}));
    set_property(type, defs.back().get());
}

#if !defined(Py_GIL_DISABLED)

// What the dict in a slot has for a key.
py::object entry(const py::object& object, const Slot& slot, PyObject* key) {
    const py::object dict = slot.get(object.ptr());
    if (!dict || !PyDict_Check(dict.ptr()) || PyDict_GET_SIZE(dict.ptr()) == 0) return {};
    return entry_of(dict.ptr(), key);
}

// A component that was handed out before and is still tracked, or None if the tokenizer has none; else the result of
// the Python property.
PyObject* component(PyObject* self, void* closure) {
    PyObject* const key = static_cast<const Property*>(closure)->key;
    const py::object state = tokenizer_slots.state.get(self);
    if (!state) return get_as_python_does(self, closure);
    const py::object part = entry(state, state_slots.parts, key);
    if (part && part.is_none()) {  // or what no JSON can say
        if (!entry(state, state_slots.live, key)) Py_RETURN_NONE;
    } else if (const py::object engine = tokenizer_slots.engine.get(self); engine && engine.is_none()) {
        if (const py::object handed = entry(state, state_slots.handed, key); handed)
            return state_slots.component.get(handed.ptr()).release().ptr();
    }
    return get_as_python_does(self, closure);
}

#endif

// Gives Tokenizer, which has these methods in Python, the quick ones; `truncation` and `padding` are its named tuples,
// `state`, `added` and `handed` the classes TokenizerState, AddedTokens and BorrowedComponent.
void quicken_tokenizer(const py::type& tokenizer, const py::type& truncation, const py::type& padding,
                       const py::type& state, const py::type& added, const py::type& handed) {
    tokenizer_slots.engine.find(tokenizer, "_engine");
    tokenizer_slots.state.find(tokenizer, "_state");
    tokenizer_slots.truncation.find(tokenizer, "_truncation");
    tokenizer_slots.padding.find(tokenizer, "_padding");
    tokenizer_slots.special_as_text.find(tokenizer, "_special_as_text");
    state_slots.handed.find(state, "_handed");
    state_slots.live.find(state, "_live");
    state_slots.parts.find(state, "_parts");
    state_slots.added.find(state, "_added");
    state_slots.component.find(handed, "component");
    state_slots.decoder.find(added, "_decoder");
    (void)defaults();
    Native::prepare();
    truncation_type = truncation.inc_ref().ptr();
    padding_type = padding.inc_ref().ptr();
    replace(tokenizer, "encode", "($self, sequence, pair=None, is_pretokenized=False, add_special_tokens=True)",
            &encode, &encode_bound);
    replace(tokenizer, "decode", "($self, ids, skip_special_tokens=True, unknown_ids='skip')", &decode, &decode_bound);
    replace(tokenizer, "id_to_token", "($self, id)", &id_to_token, &id_to_token_bound);
    replace(tokenizer, "token_to_id", "($self, token)", &token_to_id, &token_to_id_bound);
    replace(tokenizer, "get_vocab_size", "($self, with_added_tokens=True)", &get_vocab_size, &vocab_size_bound);
    replace(tokenizer, "num_special_tokens_to_add", "($self, is_pair)", &num_special_tokens_to_add,
            &special_tokens_bound);
    replace(tokenizer, "enable_truncation",
            "($self, max_length, *, stride=0, strategy='longest_first', direction='right', **ignored)",
            &enable_truncation, &enable_truncation_bound);
    replace(tokenizer, "no_truncation", "($self)", &no_truncation, &no_truncation_bound);
    replace(tokenizer, "enable_padding",
            "($self, *, direction='right', pad_id=0, pad_type_id=0, pad_token='[PAD]', length=None, "
            "pad_to_multiple_of=None, **ignored)",
            &enable_padding, &enable_padding_bound);
    replace(tokenizer, "no_padding", "($self)", &no_padding, &no_padding_bound);
    replace(tokenizer, "get_added_tokens_decoder", "($self)", &get_added_tokens_decoder, &added_decoder_bound);
    replace_property(tokenizer, "truncation", &tokenizer_slots.truncation, &setting);
    replace_property(tokenizer, "padding", &tokenizer_slots.padding, &setting);
#if !defined(Py_GIL_DISABLED)
    for (const char* name : {"normalizer", "pre_tokenizer", "model", "post_processor", "decoder"})
        replace_property(tokenizer, name, nullptr, &component);
#endif
}

}  // namespace

TokenizerSlots tokenizer_slots;

void bind_quick_tokenizer(py::module_& m) {
    m.def("quicken", &quicken_tokenizer, py::arg("tokenizer"), py::arg("truncation"), py::arg("padding"),
          py::arg("state"), py::arg("added"), py::arg("handed"));
}

}  // namespace crayon::python
