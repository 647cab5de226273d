// Finds where two JSON values differ.
#pragma once

#include <string>

#include "crayon/json/json.h"

namespace crayon {

// A string or the text of a value for a message: one line, shortened if it is long.
std::string shown(std::string text);

// Returns one line about the first difference between two values, "path: `a` in the tokenizer.json, `b` in the
// cartridge", or "" if they are equal. The order of members does not count, unless an object has one of them twice. A
// null pointer is a missing value. `path` names the values.
std::string json_difference(const std::string& path, const json::Value* a, const json::Value* b);

}  // namespace crayon
