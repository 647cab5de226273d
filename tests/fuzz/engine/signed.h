// Builds cartridges with valid checksums over any contents.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/xxh64.h"

namespace crayon::fuzz {

// Corrects the checksums of a file's sections, table and header, if the file is long enough to have these.
inline void sign(std::string* file) {
    Header header;
    if (file->size() < sizeof header) return;
    std::memcpy(&header, file->data(), sizeof header);
    const size_t room = (file->size() - sizeof header) / sizeof(SectionEntry);
    const size_t count = header.section_count < room ? header.section_count : room;
    for (size_t i = 0; i < count; ++i) {
        SectionEntry entry;
        char* const at = &(*file)[sizeof header + i * sizeof entry];
        std::memcpy(&entry, at, sizeof entry);
        if (entry.offset > file->size() || entry.size > file->size() - entry.offset) continue;
        entry.checksum = xxh64(Bytes(*file).slice(entry.offset, entry.offset + entry.size));
        std::memcpy(at, &entry, sizeof entry);
    }
    header.checksum = 0;
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    all.append(*file, sizeof header, count * sizeof(SectionEntry));
    header.checksum = xxh64(all);
    std::memcpy(&(*file)[0], &header, sizeof header);
}

struct Part {
    uint32_t type, flags;
    std::string bytes;
};

inline std::vector<Part> parts_of(const Cartridge& cartridge) {
    std::vector<Part> parts;
    for (const SectionEntry& entry : cartridge.table())
        parts.push_back({entry.type, entry.flags,
                         std::string(cartridge.file().slice(entry.offset, entry.offset + entry.size).view())});
    return parts;
}

inline std::string put_together(const std::vector<Part>& parts) {
    CartridgeWriter writer;
    for (const Part& part : parts) writer.add(Section(part.type), part.bytes, part.flags);
    return writer.finish({});
}

}  // namespace crayon::fuzz
