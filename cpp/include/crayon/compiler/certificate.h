// The certificate of a cartridge (docs/cartridge-format.md, section 18): JSON text about the comparisons with the
// original tokenizer that the cartridge passed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/bytes.h"

namespace crayon {

constexpr size_t kMaxCertificate = size_t(1) << 20;  // In bytes. Real ones have a few thousand.

// Returns nothing without a certificate. Throws Error(cartridge) if the certificate is not a JSON object of at most
// kMaxCertificate bytes.
std::optional<std::string> certificate_of(const Cartridge& cartridge);

// Returns the file with `certificate` as its last section, in place of an older one; without `certificate`, removes the
// older one. All other sections keep their bytes, order and flags. Throws Error(cartridge) if verify_cartridge refuses
// the file, and Error(argument) for an invalid certificate.
std::string with_certificate(Bytes cartridge, std::optional<std::string_view> certificate);

}  // namespace crayon
