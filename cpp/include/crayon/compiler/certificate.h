// The certificate of a cartridge (docs/cartridge-format.md, section 18): JSON text that says with what it was compared.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/bytes.h"

namespace crayon {

constexpr size_t kMaxCertificate = size_t(1) << 20;  // bytes; a real one has a few thousand

// Nothing when there is none. Error(cartridge) when it is no JSON object of at most kMaxCertificate bytes.
std::optional<std::string> certificate_of(const Cartridge& cartridge);

// The file with this certificate as its last section, in place of any that it had; nothing takes that out. All other
// sections stay as they are, in their order, and their flags. Error(cartridge) for a file that verify_cartridge
// refuses, Error(argument) for what is no certificate.
std::string with_certificate(Bytes cartridge, std::optional<std::string_view> certificate);

}  // namespace crayon
