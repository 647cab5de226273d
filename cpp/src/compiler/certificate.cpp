#include "crayon/compiler/certificate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "crayon/json/json.h"
#include "crayon/support/error.h"

namespace crayon {
namespace {

std::string too_large(size_t size) {
    return "is larger than 1 MiB: it has " + std::to_string(size) + " bytes";
}

// Returns the fault in the text of a certificate, or "" if it is valid.
std::string fault_of(std::string_view text) {
    if (text.size() > kMaxCertificate) return too_large(text.size());
    try {
        return json::parse(text).root.is_object() ? "" : "is not a JSON object";
    } catch (const Error& error) {
        return std::string("is not a JSON object: ") + error.what();
    }
}

}  // namespace

std::optional<std::string> certificate_of(const Cartridge& cartridge) {
    const Bytes section = cartridge.section(Section::certificate);
    if (section.data == nullptr) return std::nullopt;
    if (section.size > kMaxCertificate)
        throw Error(ErrorKind::cartridge, "section certificate " + too_large(section.size));
    std::string text(section.view());
    const std::string fault = fault_of(text);
    if (!fault.empty()) throw Error(ErrorKind::cartridge, "section certificate " + fault);
    return text;
}

std::string with_certificate(Bytes cartridge, std::optional<std::string_view> certificate) {
    if (certificate) {
        const std::string fault = fault_of(*certificate);
        if (!fault.empty()) throw Error(ErrorKind::argument, "the certificate " + fault);
    }
    uint32_t version = 0;
    if (cartridge.size >= sizeof kMagic + sizeof version) std::memcpy(&version, cartridge.data + 4, sizeof version);
    if (version == 2 && std::memcmp(cartridge.data, kMagic, sizeof kMagic) == 0)
        throw Error(ErrorKind::cartridge, "a version 2 (CRAYON) cartridge has no sections, so it holds no certificate");
    const Cartridge opened(own_bytes(cartridge));
    verify_cartridge(opened);
    const Bytes file = opened.file();
    CartridgeWriter writer;
    uint32_t sections = 0;
    for (const SectionEntry& entry : opened.table()) {
        if (entry.type == uint32_t(Section::certificate)) continue;
        const Bytes bytes = file.slice(size_t(entry.offset), size_t(entry.offset + entry.size));
        writer.add(Section(entry.type), std::string(bytes.view()), entry.flags);
        ++sections;
    }
    if (certificate) {
        if (sections == kMaxSections)
            throw Error(ErrorKind::cartridge,
                        "it has " + std::to_string(sections) + " sections, which leaves no room for a certificate");
        writer.add(Section::certificate, std::string(*certificate), 0);
    }
    std::array<uint8_t, 32> digest;
    std::copy(std::begin(opened.header().source_digest), std::end(opened.header().source_digest), digest.begin());
    return writer.finish(digest);
}

}  // namespace crayon
