#include "host_device_tests.h"

#include "bindings/buffer_view.h"
#include "device_capsule.h"
#include "gpu/host_device.h"
#include "gpu/memory.h"
#include "open_device.h"

namespace crayon::python {
namespace {

constexpr const char* kKinds[] = {"host", "cuda", "rocm"};

py::object host_device(size_t budget, const std::string& kind, bool is_deferred) {
    gpu::HostDeviceOptions options;
    options.budget = budget;
    options.is_deferred = is_deferred;
    for (const char* const known : kKinds)
        if (kind == known) options.kind = known;
    if (kind != options.kind) throw py::value_error("kind is " + kind + ", expected host, cuda or rocm");
    return capsule_of(std::make_unique<gpu::HostDevice>(options));
}

gpu::HostDevice& device_of(const py::capsule& capsule) {
    return *static_cast<gpu::HostDevice*>(OpenDevice(capsule).get());
}

gpu::HostCall call_of(const std::string& name) {
    for (size_t i = 0; i < gpu::kHostCalls; ++i)
        if (name == gpu::name_of(gpu::HostCall(i))) return gpu::HostCall(i);
    throw py::value_error("a device has no call " + name);
}

gpu::Status status_of(const std::string& name) {
    if (name == "out_of_memory") return gpu::Status::out_of_memory;
    if (name == "unusable") return gpu::Status::unusable;
    if (name == "lost") return gpu::Status::lost;
    if (name == "failed") return gpu::Status::failed;
    throw py::value_error("unknown status " + name);
}

py::dict counts_of(const py::capsule& capsule) {
    const gpu::HostDevice::Counts counts = device_of(capsule).counts();
    py::dict out;
    for (size_t i = 0; i < gpu::kHostCalls; ++i) out[gpu::name_of(gpu::HostCall(i))] = counts.calls[i];
    out["used"] = counts.used;
    out["most_used"] = counts.most_used;
    out["pinned"] = counts.pinned;
    out["most_pinned"] = counts.most_pinned;
    out["streams"] = counts.streams;
    return out;
}

}  // namespace

void bind_host_device(py::module_ testing) {
    testing.def("host_device", &host_device, py::arg("budget_bytes"), py::arg("kind") = "host",
                py::arg("is_deferred") = false);
    testing.def(
        "fail_on_device",
        [](const py::capsule& device, const std::string& call, uint64_t calls, const std::string& status,
           uint64_t times) { device_of(device).fail(call_of(call), calls, status_of(status), times); },
        py::arg("device"), py::arg("call"), py::arg("calls"), py::arg("status"), py::arg("times") = 1);
    testing.def(
        "take_device_memory",
        [](const py::capsule& device, size_t bytes, bool is_told) { device_of(device).take_away(bytes, is_told); },
        py::arg("device"), py::arg("bytes"), py::arg("is_told") = true);
    testing.def("device_counts", &counts_of, py::arg("device"));
    testing.def(
        "copy_on_device",
        [](const py::capsule& capsule, uintptr_t stream, const py::object& to, const py::object& from) {
            gpu::HostDevice& device = device_of(capsule);
            const WritableView target(to);
            const Bytes source = BufferView(from).all();
            if (target.all().size != source.size) throw py::value_error("the sizes differ");
            const gpu::Status status =
                device.copy(target.data(), source.data, source.size, reinterpret_cast<gpu::Stream>(stream));
            gpu::check(device, status, "copying");
        },
        py::arg("device"), py::arg("stream"), py::arg("to"), py::arg("from_"));
    testing.def(
        "open_device_stream",
        [](const py::capsule& capsule) {
            gpu::HostDevice& device = device_of(capsule);
            gpu::Stream stream = nullptr;
            gpu::check(device, device.open_stream(&stream), "opening a stream");
            return reinterpret_cast<uintptr_t>(stream);
        },
        py::arg("device"));
    testing.def(
        "stream_after_on_device",
        [](const py::capsule& capsule, uintptr_t stream, uintptr_t other) {
            gpu::HostDevice& device = device_of(capsule);
            gpu::check(device,
                       device.after(reinterpret_cast<gpu::Stream>(stream), reinterpret_cast<gpu::Stream>(other)),
                       "waiting for a stream");
        },
        py::arg("device"), py::arg("stream"), py::arg("other"));
}

}  // namespace crayon::python
