// Makes NumPy arrays over the engine's memory, and reads NumPy arrays in place.
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "crayon/support/id_buffer.h"

namespace crayon::python {

// Makes an array that owns the vector's memory. `Item` is the type of the same size by which NumPy names `T`.
template <typename Item, typename T>
py::array_t<Item> array_of(std::vector<T>&& values, std::vector<py::ssize_t> shape) {
    static_assert(sizeof(Item) == sizeof(T), "the memory is used as it is");
    auto* kept = new std::vector<T>(std::move(values));
    const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
    return py::array_t<Item>(std::move(shape), reinterpret_cast<const Item*>(kept->data()), owner);
}
template <typename T>
py::array_t<T> array_of(std::vector<T>&& values) {
    const py::ssize_t n = py::ssize_t(values.size());
    return array_of<T>(std::move(values), {n});
}
template <typename T>
py::array_t<T> array_of(GrowingIds<T>&& ids) {
    ids.reserve_more(1);  // an array without ids also needs memory to own
    auto* const kept = new GrowingIds<T>(std::move(ids));
    const py::capsule owner(kept, [](void* p) {
        const std::unique_ptr<GrowingIds<T>> gone(static_cast<GrowingIds<T>*>(p));
        gone->keep();
    });
    return py::array_t<T>(py::ssize_t(kept->size()), kept->data(), owner);
}

// The starts and ends of ranges: two arrays of equal length, kept alive while they are read.
class RangeArrays {
  public:
    RangeArrays(const py::object& begins, const py::object& ends)
        : begins_(int64_array(begins, "begins")), ends_(int64_array(ends, "ends")) {
        if (begins_.size() != ends_.size())
            throw py::value_error("begins has " + std::to_string(begins_.size()) + " items, ends has " +
                                  std::to_string(ends_.size()));
    }
    const int64_t* begins() const { return begins_.data(); }
    const int64_t* ends() const { return ends_.data(); }
    size_t size() const { return size_t(begins_.size()); }

  private:
    using Array = py::array_t<int64_t, py::array::c_style>;

    // Returns `object` as a contiguous array, as a copy if needed. Values never change, because NumPy refuses unsafe
    // integer casts.
    static Array int64_array(const py::object& object, const char* name) {
        const Array array(object);
        if (array.ndim() != 1)
            throw py::value_error(std::string(name) + " has " + std::to_string(array.ndim()) +
                                  " dimensions, expected one");
        return array;
    }

    Array begins_, ends_;
};

}  // namespace crayon::python
