// Failures of a device as exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "device.h"

namespace crayon {
namespace gpu {

class DeviceError : public std::runtime_error {
  public:
    DeviceError(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
    Status status() const { return status_; }

  private:
    Status status_;
};

inline void check(const Device& device, Status status, const char* what) {
    if (status == Status::ok) return;
    throw DeviceError(status, std::string(device.kind()) + " device " + std::to_string(device.index()) + ", " + what +
                                  ": " + device.error());
}

}  // namespace gpu
}  // namespace crayon
