// Decodes base64 (RFC 4648, section 4). As in Hugging Face tokenizers, padding is optional.
#pragma once

#include <string>
#include <string_view>

namespace crayon {

// Writes the decoded bytes to `out`. Returns false if `text` is not base64.
bool from_base64(std::string_view text, std::string* out);

}  // namespace crayon
