// Binds Engine.encode_columns and encode_row, which turn texts into the lists or arrays that a model takes.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/inputs.h"
#include "crayon/encode/sinks/columns.h"
#include "crayon/support/error.h"

namespace crayon::python {
namespace {

Column column_of(py::handle name) {
    const auto is = [&](const char* known) {
        return PyUnicode_Check(name.ptr()) && PyUnicode_CompareWithASCIIString(name.ptr(), known) == 0;
    };
    if (is("input_ids")) return Column::input_ids;
    if (is("attention_mask")) return Column::attention_mask;
    if (is("token_type_ids")) return Column::token_type_ids;
    if (is("special_tokens_mask")) return Column::special_tokens_mask;
    throw py::value_error("unknown column " + std::string(py::repr(name)));
}

// Adds references to an object.
void add_references(PyObject* object, size_t n) {
#if defined(Py_GIL_DISABLED)
    for (size_t i = 0; i < n; ++i) Py_INCREF(object);
#else
#if PY_VERSION_HEX >= 0x030C0000
    if (_Py_IsImmortal(object)) return;
#endif
    Py_SET_REFCNT(object, Py_REFCNT(object) + py::ssize_t(n));
#endif
}

// Returns a list of ints. Is fast for long runs of equal values, because it updates a reference count once per run.
py::list list_of_runs(const int32_t* values, size_t n) {
    auto list = py::reinterpret_steal<py::list>(PyList_New(py::ssize_t(n)));
    if (!list) throw py::error_already_set();
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && values[end] == values[i]) ++end;
        PyObject* value = PyLong_FromUnsignedLong(uint32_t(values[i]));  // type ids can have 32 bits, too
        if (value == nullptr) throw py::error_already_set();
        add_references(value, end - i - 1);
        while (i < end) PyList_SET_ITEM(list.ptr(), py::ssize_t(i++), value);
    }
    return list;
}

py::list list_of(Column column, const std::vector<int32_t>& row) {
    return column == Column::input_ids ? list_of_ids(row.data(), row.size()) : list_of_runs(row.data(), row.size());
}

py::list lists_of(const Columns& columns, Column column) {
    py::list out(columns.rows());
    std::vector<int32_t> row;
    GilYield turns(true);
    for (size_t i = 0; i < columns.rows(); ++i) {
        row.resize(columns.row_size(i));
        columns.write(column, i, row.data());
        PyList_SET_ITEM(out.ptr(), py::ssize_t(i), list_of(column, row).release().ptr());
        turns.pass(i);
    }
    return out;
}

py::array_t<int64_t> array_of(const Columns& columns, Column column) {
    const size_t width = columns.rows() == 0 ? 0 : columns.row_size(0);
    py::array_t<int64_t> out({py::ssize_t(columns.rows()), py::ssize_t(width)});
    int64_t* data = out.mutable_data();
    const MaybeRelease release(columns.rows() * width * sizeof *data / 8);
    for (size_t i = 0; i < columns.rows(); ++i) columns.write(column, i, data + i * width);
    return out;
}

py::list sizes_of(const Columns& columns) {
    py::list out;
    for (size_t i = 0; i < columns.rows(); ++i) out.append(columns.row_size(i));
    return out;
}

}  // namespace

void bind_columns(EngineClass& c) {
    c.def(
        "encode_row",
        [](const Engine& self, const py::object& text, bool special, bool as_text,
           const py::tuple& names) -> py::object {
            Texts kept(replaces_surrogates(self));
            const Bytes bytes = kept.add(text, "text", false);
            EncodeOptions options;
            options.add_special_tokens = special;
            options.special_as_text = as_text;
            std::optional<Row> encoded;
            {
                const MaybeRelease release(bytes.size);
                encoded = encode_row(self, bytes, options);
            }
            if (!encoded) return py::none();
            py::dict out;
            std::vector<int32_t> row(encoded->size());
            for (const py::handle name : names) {
                const Column column = column_of(name);
                if (column == Column::input_ids) {
                    out[name] = list_of_ids(encoded->ids(), encoded->size());
                    continue;
                }
                encoded->write(column, row.data());
                out[name] = list_of_runs(row.data(), row.size());
            }
            return out;
        },
        py::arg("text"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("columns") = py::make_tuple("input_ids", "token_type_ids", "attention_mask"));
    c.def(
        "encode_columns",
        [](const Engine& self, const py::object& first, const py::object& second, bool special, bool as_text,
           const py::object& truncation, const py::object& padding, const py::sequence& names, bool as_arrays,
           size_t threads) -> py::object {
            Texts kept(replaces_surrogates(self));
            const std::vector<Bytes> texts = texts_of(first, &kept, false);
            std::vector<Bytes> pairs;
            if (!second.is_none()) pairs = texts_of(second, &kept, false);
            if (!second.is_none() && pairs.size() != texts.size())
                throw py::value_error("the batch has " + std::to_string(texts.size()) + " first texts and " +
                                      std::to_string(pairs.size()) + " second ones");
            EncodeOptions options;
            options.add_special_tokens = special;
            options.special_as_text = as_text;
            options.truncation = truncation_of(truncation);
            options.padding = padding_of(padding);
            std::optional<Columns> columns;
            size_t size = 0;
            for (const Bytes& text : texts) size += text.size + 64;
            for (const Bytes& text : pairs) size += text.size;
            {
                const MaybeRelease release(size);
                columns = encode_columns(self, texts, second.is_none() ? nullptr : &pairs, options, threads);
            }
            if (!columns) return py::none();
            if (as_arrays && !columns->is_rectangular())
                throw py::value_error("the rows have different lengths: an array needs padding");
            py::dict out;
            for (const py::handle name : names) {
                if (py::isinstance<py::str>(name) && name.cast<std::string>() == "length")
                    out["length"] = sizes_of(*columns);
                else if (as_arrays)
                    out[name] = array_of(*columns, column_of(name));
                else
                    out[name] = lists_of(*columns, column_of(name));
            }
            return out;
        },
        py::arg("first"), py::arg("second") = py::none(), py::arg("add_special_tokens") = true,
        py::arg("special_as_text") = false, py::arg("truncation") = py::none(), py::arg("padding") = py::none(),
        py::arg("columns") = py::make_tuple("input_ids", "token_type_ids", "attention_mask"),
        py::arg("as_arrays") = false, py::arg("threads") = 0);
}

}  // namespace crayon::python
