// Binds encoding on devices: DeviceEncoder, DeviceArray.
#include <pybind11/stl.h>

#include <algorithm>
#include <mutex>

#include "bindings/arrays.h"
#include "bindings/inputs.h"
#include "crayon/support/error.h"
#include "crayon/texts/flat_texts.h"
#include "device_array.h"
#include "device_memory.h"
#include "flat_input.h"
#include "gpu/encoder.h"
#include "host_device_tests.h"
#include "measures.h"
#include "text_places.h"

namespace crayon::python {
namespace {

// Host memory from which texts are copied to the device. Uses pinned memory, which is faster, up to a limited size. The
// pool keeps pinned memory for the next batch.
class Staging {
  public:
    Staging(const gpu::PoolPtr& pool, size_t size) : pinned_(pool) {
        constexpr size_t kLeastPinned = size_t(1) << 20, kMostPinned = size_t(256) << 20;
        if (size <= kMostPinned) {
            try {
                pinned_.make_room(std::max(size, kLeastPinned));
                return;
            } catch (const gpu::DeviceError& error) {
                if (error.status() != gpu::Status::out_of_memory) throw;
            }
        }
        plain_.reset(new uint8_t[size]);
    }
    uint8_t* data() const { return plain_ != nullptr ? plain_.get() : pinned_.data(); }

  private:
    gpu::Buffer<uint8_t, true> pinned_;
    std::unique_ptr<uint8_t[]> plain_;
};

class PyDeviceEncoder {
  public:
    PyDeviceEncoder(std::shared_ptr<const Engine> engine, const py::object& device, gpu::Capacity capacity,
                    bool measures)
        : device_(std::make_shared<OpenDevice>(device, measures)) {
        const std::string why = gpu::why_unsupported(*engine);
        if (!why.empty()) throw Error(ErrorKind::unsupported, "no device supports this vocabulary: " + why);
        const py::gil_scoped_release release;
        on_device_ = std::make_unique<OnDevice>(std::move(engine), device_, capacity);
    }
    ~PyDeviceEncoder() {
        if (!device_->is_here()) (void)on_device_.release();  // in a fork's child: the memory is the parent's
    }

    py::tuple encode_ragged(const py::object& texts, bool special, bool as_text, size_t threads, bool as_arrays) {
        device_->check_process();
        TextBatch batch(texts, replaces_surrogates(on_device_->encoder.engine()));
        Made made(*this);
        batch.run([&](const std::vector<TextView>& views) {
            // Releases the GIL even for a small batch, because the batch may have to wait for another thread's.
            std::optional<py::gil_scoped_release> release;
            if (PyGILState_Check() != 0) release.emplace();
            const std::lock_guard<std::mutex> lock(on_device_->mutex);
            const FlatTextWriter writer(views, threads);
            const Staging staging(on_device_->encoder.pool(), writer.size());
            writer.write(staging.data());
            encode({staging.data(), writer.offsets().data(), views.size()}, special, as_text, as_arrays, &made);
        });
        return tuple_of(std::move(made), as_arrays);
    }

    py::tuple encode_flat(const py::object& data, const py::object& offsets, bool special, bool as_text,
                          bool as_arrays) {
        device_->check_process();
        const FlatInput input(data, *device_, on_device_->encoder.stream());
        const auto array = py::array_t<int64_t, py::array::c_style>(offsets);
        if (array.ndim() != 1)
            throw py::value_error("offsets has " + std::to_string(array.ndim()) + " dimensions, expected one");
        const int64_t* const given = array.data();
        const size_t n = size_t(array.size());
        Made made(*this);
        {
            const py::gil_scoped_release release;
            const std::vector<uint64_t> checked = checked_offsets(given, n, input.size());
            const std::lock_guard<std::mutex> lock(on_device_->mutex);
            encode({input.bytes(), checked.data(), n - 1, input.is_on_device(), 0, input.stream()}, special, as_text,
                   as_arrays, &made);
        }
        return tuple_of(std::move(made), as_arrays);
    }

    py::dict report() const {
        device_->check_process();
        gpu::EncodeReport all;
        gpu::Measures measures;
        {
            const py::gil_scoped_release release;
            const std::lock_guard<std::mutex> lock(on_device_->mutex);
            all = on_device_->report;
            if (device_->measured() != nullptr) measures = device_->measured()->measures();
        }
        py::dict out;
        out["partitions"] = all.partitions;
        out["bytes"] = all.bytes;
        out["pretokens"] = all.pretokens;
        out["ids"] = all.ids;
        out["merged_pretokens"] = all.merged_pretokens;
        out["merged_bytes"] = all.merged_bytes;
        out["host_pretokens"] = all.host_pretokens;
        out["host_documents"] = all.host_documents;
        out["longest_walk"] = all.longest_walk;
        if (device_->measured() != nullptr) add_measures(measures, &out);
        return out;
    }

    const OpenDevice& device() const { return *device_; }
    std::shared_ptr<const Engine> engine() const { return on_device_->engine; }

  private:
    struct OnDevice {
        OnDevice(std::shared_ptr<const Engine> of, const DevicePtr& device, gpu::Capacity capacity)
            : engine(std::move(of)), encoder(engine, device->get(), capacity), registered(&encoder, device) {
            encoder.set_reclaim([this] { registered.trim_others(); });
        }
        std::shared_ptr<const Engine> engine;
        std::mutex mutex;
        gpu::Encoder encoder;
        gpu::EncodeReport report;
        DeviceMemory registered;  // destroyed first
    };
    struct Made {
        explicit Made(const PyDeviceEncoder& self) : on_device(self.on_device_->encoder.pool()) {}
        Ragged on_host;
        gpu::DeviceRagged on_device;
        size_t texts = 0;
    };

    void encode(const gpu::FlatTexts& texts, bool special, bool as_text, bool as_arrays, Made* made) {
        EncodeOptions options;
        options.add_special_tokens = special;
        options.special_as_text = as_text;
        gpu::Encoder& encoder = on_device_->encoder;
        if (as_arrays)
            made->on_device = encoder.encode_on_device(texts, options, &on_device_->report);
        else
            made->on_host = encoder.encode_ragged(texts, options, &on_device_->report);
        made->texts = texts.count;
    }

    py::tuple tuple_of(Made&& made, bool as_arrays) const {
        if (!as_arrays)
            return py::make_tuple(array_of(std::move(made.on_host.ids)), array_of(std::move(made.on_host.splits)));
        gpu::DeviceRagged& ragged = made.on_device;
        return py::make_tuple(DeviceArray::of(device_, std::move(ragged.ids), ragged.n_ids),
                              DeviceArray::of(device_, std::move(ragged.row_splits), made.texts + 1));
    }

    DevicePtr device_;
    std::unique_ptr<OnDevice> on_device_;
};

void bind_array(py::module_& m) {
    py::class_<DeviceArray>(m, "DeviceArray")
        .def("__dlpack__", &DeviceArray::to_dlpack, py::kw_only(), py::arg("stream") = py::none(),
             py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
        .def("__dlpack_device__",
             [](const DeviceArray& self) {
                 const dlpack::Device device = dlpack_device(*self.device().get());
                 return py::make_tuple(device.type, device.index);
             })
        .def("numpy", &DeviceArray::to_numpy)
        .def("__len__", &DeviceArray::size)
        .def_property_readonly("shape", [](const DeviceArray& self) { return py::make_tuple(self.size()); })
        .def_property_readonly("dtype", &DeviceArray::dtype)
        .def_property_readonly("nbytes", &DeviceArray::bytes)
        .def_property_readonly("device", [](const DeviceArray& self) { return self.device().label(); })
        .def("__repr__", [](const DeviceArray& self) {
            return "<DeviceArray of " + std::to_string(self.size()) + " " + std::string(py::str(self.dtype())) +
                   " on " + self.device().label() + ">";
        });
}

}  // namespace

void bind_device(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    bind_host_device(testing);
    bind_text_places(&testing);
    bind_array(m);
    py::class_<PyDeviceEncoder>(m, "DeviceEncoder")
        .def(py::init([](std::shared_ptr<const Engine> engine, const py::object& device, uint64_t elements,
                         uint32_t margin, uint32_t lanes, bool measure) {
                 return std::make_unique<PyDeviceEncoder>(std::move(engine), device,
                                                          gpu::Capacity{elements, margin, lanes}, measure);
             }),
             py::arg("engine").none(false), py::arg("device"), py::arg("elements") = gpu::Capacity{}.elements,
             py::arg("margin") = gpu::Capacity{}.margin, py::arg("lanes") = gpu::Capacity{}.lanes,
             py::arg("measure") = false)
        .def("encode_ragged", &PyDeviceEncoder::encode_ragged, py::arg("texts"), py::arg("add_special_tokens") = true,
             py::arg("special_as_text") = false, py::arg("threads") = 0, py::arg("as_device_arrays") = false)
        .def("encode_flat", &PyDeviceEncoder::encode_flat, py::arg("data"), py::arg("offsets"),
             py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
             py::arg("as_device_arrays") = false)
        .def_property_readonly("report", &PyDeviceEncoder::report)
        .def_property_readonly(
            "engine", [](const PyDeviceEncoder& self) { return std::const_pointer_cast<Engine>(self.engine()); })
        .def_property_readonly("device", [](const PyDeviceEncoder& self) { return self.device().label(); });
    m.def(
        "why_not_on_device", [](const Engine& engine) { return gpu::why_unsupported(engine); }, py::arg("engine"));
}

}  // namespace crayon::python
