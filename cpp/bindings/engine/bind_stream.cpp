// StreamEncoder: takes windows of a stream as any buffer, returns arrays over memory from the encoder's pool.
#include <pybind11/numpy.h>

#include <atomic>

#include "bindings/bindings.h"
#include "bindings/buffer_view.h"
#include "crayon/encode/sinks/stream_encoder.h"

namespace crayon::python {
namespace {

// Makes an array over leased memory, which returns to the pool when the last array over it is freed.
template <typename T>
py::array_t<T> lease_array(BufferPool::Lease&& lease, std::vector<py::ssize_t> shape) {
    lease.reserve(sizeof(T));  // an empty array also needs memory to own
    auto* kept = new BufferPool::Lease(std::move(lease));
    const py::capsule owner(kept, [](void* p) { delete static_cast<BufferPool::Lease*>(p); });
    return py::array_t<T>(std::move(shape), static_cast<const T*>(kept->data()), owner);
}

struct PyStreamEncoder {
    PyStreamEncoder(std::shared_ptr<const Engine> engine, const StreamOptions& options)
        : encoder(std::move(engine), options), with_offsets(options.offsets) {}
    StreamEncoder encoder;
    const bool with_offsets;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

py::tuple encode(PyStreamEncoder& self, const py::object& buffer, size_t start, size_t end, bool is_last) {
    const BufferView view(buffer);
    const Bytes window = view.slice(start, end);
    if (self.busy.test_and_set())
        throw std::runtime_error("another thread is using this StreamEncoder: give each thread its own");
    const auto leave = [](PyStreamEncoder* encoder) { encoder->busy.clear(); };
    const std::unique_ptr<PyStreamEncoder, decltype(leave)> entered(&self, leave);
    StreamChunk chunk;
    {
        const py::gil_scoped_release release;
        chunk = self.encoder.encode(window, is_last);
    }
    const py::ssize_t n = py::ssize_t(chunk.n_ids);
    const py::object ids = lease_array<int32_t>(std::move(chunk.ids), {n});
    const py::object offsets =
        self.with_offsets ? py::object(lease_array<int64_t>(std::move(chunk.offsets), {n, 2})) : py::none();
    return py::make_tuple(chunk.consumed, ids, offsets);
}

}  // namespace

void bind_stream(py::module_& m) {
    py::class_<PyStreamEncoder>(m, "StreamEncoder")
        .def(py::init([](std::shared_ptr<const Engine> engine, bool special, bool as_text, bool offsets) {
                 return std::make_unique<PyStreamEncoder>(std::move(engine), StreamOptions{special, as_text, offsets});
             }),
             py::arg("engine").none(false), py::arg("add_special_tokens") = false, py::arg("special_as_text") = false,
             py::arg("offsets") = false)
        .def("encode", &encode, py::arg("buffer"), py::arg("start"), py::arg("end"), py::arg("is_last"))
        .def_property_readonly("streams", [](const PyStreamEncoder& self) { return self.encoder.streams(); })
        .def_property_readonly("position", [](const PyStreamEncoder& self) { return self.encoder.position(); });
}

}  // namespace crayon::python
