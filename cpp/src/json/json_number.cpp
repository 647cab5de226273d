#include "json/json_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#endif

namespace crayon::json {
namespace {

constexpr int kMaxPower = 308;

// The double nearest to a power of ten. Without a decimal point, <cstdlib>'s functions do not depend on the locale.
double power_of_ten(int64_t exponent) {
    static const std::array<double, kMaxPower + 1> powers = [] {
        std::array<double, kMaxPower + 1> all{};
        for (int i = 0; i <= kMaxPower; ++i) all[size_t(i)] = std::strtod(("1e" + std::to_string(i)).c_str(), nullptr);
        return all;
    }();
    return powers[size_t(exponent)];
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool scale(uint64_t significand, int64_t exponent, double* out) {
    double value = double(significand);
    while (exponent < -kMaxPower && value != 0) {
        value /= power_of_ten(kMaxPower);
        exponent += kMaxPower;
    }
    if (value != 0) {
        if (exponent > kMaxPower) return false;
        value = exponent >= 0 ? value * power_of_ten(exponent) : value / power_of_ten(-exponent);
        if (std::isinf(value)) return false;
    }
    *out = value;
    return true;
}

}  // namespace

bool read_serde_number(const char* p, const char* end, double* out) {
    const bool negative = p < end && *p == '-';
    p += negative;
    uint64_t significand = 0;
    int64_t exponent = 0;
    bool full = false;  // a digit did not fit into 64 bits: this digit and all later ones count as zeros
    bool fraction = false;
    for (; p < end && (is_digit(*p) || *p == '.'); ++p) {
        if (*p == '.') {
            fraction = true;
            // Tries digits of the fraction even if the integer part was too long.
            full = false;
            continue;
        }
        const uint64_t digit = uint64_t(*p - '0');
        const uint64_t most = std::numeric_limits<uint64_t>::max();
        full = full || significand > most / 10 || (significand == most / 10 && digit > most % 10);
        if (!full) significand = significand * 10 + digit;
        exponent += full ? !fraction : -int64_t(fraction);
    }
    if (p < end) {  // at the e
        ++p;
        const bool shrinks = *p == '-';
        p += *p == '-' || *p == '+';
        constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
        int64_t power = 0;
        for (; p < end; ++p) {
            power = power * 10 + (*p - '0');
            if (power > kMost) {
                if (significand != 0 && !shrinks) return false;
                *out = negative ? -0.0 : 0.0;
                return true;
            }
        }
        exponent = std::clamp<int64_t>(exponent + (shrinks ? -power : power), -kMost - 1, kMost);
    }
    if (!scale(significand, exponent, out)) return false;
    if (negative) *out = -*out;
    return true;
}

bool read_nearest_number(const char* begin, const char* end, double* out) {
#if defined(__cpp_lib_to_chars)
    return std::from_chars(begin, end, *out).ec == std::errc();
#else
    std::istringstream stream(std::string(begin, end));
    stream.imbue(std::locale::classic());
    return bool(stream >> *out);
#endif
}

}  // namespace crayon::json
