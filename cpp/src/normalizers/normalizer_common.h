// The factories of the normalizers; normalizers.cpp reads the JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crayon/normalizers/normalizers.h"
#include "crayon/regex/regex.h"
#include "normalizers/normalize_forms.h"
#include "normalizers/normalize_steps.h"

namespace crayon {

struct BertOptions {
    bool clean_text, handle_chinese_chars, strip_accents, lowercase;
};

std::unique_ptr<Normalizer> make_bert(const BertOptions& options);
std::unique_ptr<Normalizer> make_replace(std::string_view pattern, std::string_view content);
// `is_spaces`: the pattern is " {2,}", for which `divides` has rules.
std::unique_ptr<Normalizer> make_replace(Regex pattern, std::string_view content, bool is_spaces = false);
// Throws Error(vocabulary) if the bytes are not a charsmap.
std::unique_ptr<Normalizer> make_precompiled(const std::string& charsmap);

}  // namespace crayon
