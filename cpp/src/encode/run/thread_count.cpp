#include "crayon/encode/run/thread_count.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "crayon/support/cores.h"
#include "crayon/support/error.h"

namespace crayon {

size_t thread_count(size_t threads) {
    constexpr size_t kMost = 1024;
    if (threads != 0) return std::min(threads, kMost);
    if (const char* text = std::getenv("CRAYON_NUM_THREADS"); text != nullptr && *text != '\0') {
        const std::string digits(text);
        const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos && digits.size() < 10;
        const unsigned long n = is_number ? std::strtoul(text, nullptr, 10) : 0;
        if (n == 0)
            throw Error(ErrorKind::argument, std::string("CRAYON_NUM_THREADS is not a positive number: ") + text);
        return std::min<size_t>(n, kMost);
    }
    if (const char* text = std::getenv("TOKENIZERS_PARALLELISM")) {
        std::string value(text);
        for (char& c : value) c = char(std::tolower(static_cast<unsigned char>(c)));
        for (const char* off : {"", "off", "false", "f", "no", "n", "0"})
            if (value == off) return 1;
    }
    return usable_cores();
}

size_t thread_count(size_t threads, size_t bytes) {
    constexpr size_t kThreadBytes = size_t(1) << 18;
    const size_t n = thread_count(threads);
    if (threads != 0) return std::min(n, std::max(size_t(8), 2 * usable_cores()));
    return std::min(n, std::max(size_t(1), bytes / kThreadBytes));
}

}  // namespace crayon
