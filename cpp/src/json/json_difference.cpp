#include "json/json_difference.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

using json::Value;
using Type = Value::Type;
using Members = std::vector<const Value::Member*>;

std::string text_of(const Value* value) {
    return value == nullptr ? "nothing" : shown(json::serialize(*value));
}

std::string member_path(const std::string& path, std::string_view name) {
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (!name.empty() && std::all_of(name.begin(), name.end(), is_plain)) return path + "." + std::string(name);
    return path + "[" + shown(json::quote(name)) + "]";
}

// Sorts members by name. If a name is listed twice, keeps their order and returns false.
bool sort_members(const Value& object, Members* out) {
    for (const Value::Member& member : object.as_object("")) out->push_back(&member);
    Members sorted = *out;
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    const auto same = [](const auto* a, const auto* b) { return a->first == b->first; };
    if (std::adjacent_find(sorted.begin(), sorted.end(), same) != sorted.end()) return false;
    out->swap(sorted);
    return true;
}

bool is_same_scalar(const Value& a, const Value& b) {
    switch (a.type()) {
        case Type::null:
            return true;
        case Type::boolean:
            return a.as_bool("") == b.as_bool("");
        case Type::integer:
            return a.as_integer("") == b.as_integer("");
        case Type::large:
            return a.as_large("") == b.as_large("");
        case Type::number:
            return a.as_number("") == b.as_number("");
        default:
            return a.as_string("") == b.as_string("");
    }
}

std::string members_difference(const std::string& path, const Value& a, const Value& b) {
    Members in_a, in_b;
    const bool once_in_a = sort_members(a, &in_a), once_in_b = sort_members(b, &in_b);
    if (once_in_a != once_in_b) return path + ": an object with a member twice, and one without";
    size_t i = 0, j = 0;
    while (i < in_a.size() || j < in_b.size()) {
        const bool has_a = i < in_a.size(), has_b = j < in_b.size();
        if (has_a && has_b && in_a[i]->first == in_b[j]->first) {
            std::string found = json_difference(member_path(path, in_a[i]->first), &in_a[i]->second, &in_b[j]->second);
            if (!found.empty()) return found;
            ++i;
            ++j;
        } else if (has_a && (!has_b || in_a[i]->first < in_b[j]->first)) {
            return json_difference(member_path(path, in_a[i]->first), &in_a[i]->second, nullptr);
        } else {
            return json_difference(member_path(path, in_b[j]->first), nullptr, &in_b[j]->second);
        }
    }
    return "";
}

}  // namespace

std::string shown(std::string text) {
    constexpr size_t kMost = 100;
    if (text.size() > kMost) {
        size_t end = kMost;
        while (end > kMost - 4 && (uint8_t(text[end]) & 0xC0) == 0x80) --end;
        text.resize(end);
        text += "...";
    }
    text = utf8_lossy(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    // Escapes control characters that JSON does not require to escape, and Unicode's line ends.
    std::string out;
    for (const uint8_t *p = reinterpret_cast<const uint8_t*>(text.data()), *end = p + text.size(); p < end;) {
        const Decoded c = decode_utf8(p, end);
        const uint32_t code = c.code_point;
        char escaped[8];
        if ((code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029) {
            std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
            out += escaped;
        } else {
            out.append(reinterpret_cast<const char*>(p), c.size);
        }
        p += c.size;
    }
    return out;
}

std::string json_difference(const std::string& path, const Value* a, const Value* b) {
    if (a == b) return "";
    if (a != nullptr && b != nullptr && a->type() == b->type()) {
        if (a->is_object()) return members_difference(path, *a, *b);
        if (!a->is_array()) {
            if (is_same_scalar(*a, *b)) return "";
        } else {
            const auto in_a = a->as_array(""), in_b = b->as_array("");
            for (size_t i = 0; i < std::max(in_a.size(), in_b.size()); ++i) {
                std::string found =
                    json_difference(path + "[" + std::to_string(i) + "]", i < in_a.size() ? &in_a[i] : nullptr,
                                    i < in_b.size() ? &in_b[i] : nullptr);
                if (!found.empty()) return found;
            }
            return "";
        }
    }
    return path + ": " + text_of(a) + " in the tokenizer.json, " + text_of(b) + " in the cartridge";
}

}  // namespace crayon
