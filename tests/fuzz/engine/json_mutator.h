// A custom mutator for JSON: replaces parts of a document by other parts, or by known components.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "crayon/json/json.h"
#include "crayon/support/error.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace crayon::fuzz {

// JSON texts of components, one for each kind and option.
inline const std::vector<std::string>& components() {
    static const std::vector<std::string> all{
#include "components.h"
    };
    return all;
}

// Appends the text of `root`, with `replaced` written as `text`.
inline void write(const json::Value& root, const json::Value* replaced, const std::string& text, std::string* out) {
    if (&root == replaced) {
        *out += text;
    } else if (root.is_array()) {
        *out += '[';
        const char* comma = "";
        for (const json::Value& element : root.as_array("")) {
            *out += comma;
            comma = ",";
            write(element, replaced, text, out);
        }
        *out += ']';
    } else if (root.is_object()) {
        *out += '{';
        const char* comma = "";
        for (const auto& [name, member] : root.as_object("")) {
            *out += comma + json::quote(name) + ":";
            comma = ",";
            write(member, replaced, text, out);
        }
        *out += '}';
    } else {
        *out += json::serialize(root);
    }
}

// Draws a value to change, level by level from `root`, because most values are in large ones such as vocabularies.
inline const json::Value* draw(const json::Value& root, std::minstd_rand* random) {
    const json::Value* value = &root;
    for (int depth = 0; depth < 12; ++depth) {
        const size_t stop = (*random)() % 6;
        if (value->is_array() && !value->as_array("").empty() && (stop != 0 || depth == 0)) {
            const auto& elements = value->as_array("");
            value = &elements[(*random)() % elements.size()];
        } else if (value->is_object() && !value->as_object("").empty() && (stop != 0 || depth == 0)) {
            const auto& members = value->as_object("");
            value = &members[(*random)() % members.size()].second;
        } else {
            break;
        }
    }
    return value;
}

inline std::string other_value(const json::Value& value, std::minstd_rand* random) {
    static const char* const kPlain[] = {"null",        "true",      "false",       "0",          "1",
                                         "-1",          "2",         "300",         "4294967296", "1e400",
                                         "0.5",         "\"\"",      "\" \"",       "\"a\"",      "\"\\u2581\"",
                                         "\"\\u0120\"", "\"<unk>\"", "[]",          "{}",         "9223372036854775808",
                                         "\"always\"",  "\"first\"", "\"Removed\"", "\"##\""};
    if (value.is_string() && (*random)() % 2) {
        char buffer[512];
        const std::string_view text = value.as_string("");
        const size_t size = std::min(text.size(), sizeof buffer / 2);
        std::memcpy(buffer, text.data(), size);
        const size_t n = LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(buffer), size, sizeof buffer);
        return json::quote({buffer, n});
    }
    return kPlain[(*random)() % std::size(kPlain)];
}

inline size_t mutate_json(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    std::minstd_rand random(seed);
    if (random() % 4 != 0) try {
            const json::Document document = json::parse({reinterpret_cast<const char*>(data), size});
            const json::Value* const value = draw(document.root, &random);
            std::string text, out;
            switch (random() % 6) {
                case 0:
                    text = json::serialize(*draw(document.root, &random));
                    break;
                case 1:
                    text = "[" + json::serialize(*value) + "," + json::serialize(*draw(document.root, &random)) + "]";
                    break;
                case 2:
                case 3:
                    text = components()[random() % components().size()];
                    break;
                default:
                    text = other_value(*value, &random);
            }
            write(document.root, value, text, &out);
            if (out.size() <= max_size) {
                std::memcpy(data, out.data(), out.size());
                return out.size();
            }
        } catch (const Error&) {
        }
    return LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace crayon::fuzz
