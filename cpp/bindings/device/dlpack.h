// DLPack's binary interface (dmlc.github.io/dlpack, before and since version 1), as far as vectors need it.
#pragma once

#include <cstdint>

namespace crayon::python::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kRocm = 10, kRocmHost = 11, kCudaManaged = 13 };
enum TypeCode : uint8_t { kInt = 0, kUint = 1 };

struct Device {
    int32_t type, index;
};

struct Tensor {
    void* data;
    Device device;
    int32_t n_dimensions;
    uint8_t type_code, bits;
    uint16_t lanes;
    int64_t* shape;
    int64_t* strides;  // in items; null if contiguous, before version 1.2
    uint64_t byte_offset;
};

// Content of a capsule named kName. The consumer renames the capsule and finally calls the deleter.
constexpr char kName[] = "dltensor", kUsed[] = "used_dltensor";
struct Managed {
    Tensor tensor;
    void* owner;
    void (*deleter)(Managed*);
};

// The names of capsules with a ManagedVersioned, which version 1 introduced.
constexpr char kVersionedName[] = "dltensor_versioned", kVersionedUsed[] = "used_dltensor_versioned";
constexpr uint32_t kMajor = 1, kMinor = 0;
constexpr uint64_t kIsCopied = 2;  // a flag
struct ManagedVersioned {
    uint32_t major, minor;
    void* owner;
    void (*deleter)(ManagedVersioned*);
    uint64_t flags;
    Tensor tensor;
};

}  // namespace crayon::python::dlpack
