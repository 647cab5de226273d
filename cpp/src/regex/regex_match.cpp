// The interface of regular expressions: one search, or all matches in sequence.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "crayon/regex/regex.h"
#include "regex/regex_machine.h"
#include "regex/regex_program.h"

namespace crayon {

Regex::Regex(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex Regex::compile(std::string_view pattern) {
    // Each thread has its own map without a lock, because the child of a fork could find a lock taken for ever.
    static thread_local std::map<std::string, std::weak_ptr<const Program>, std::less<>> known;
    static thread_local size_t most_known = 0;
    auto place = known.find(pattern);
    if (place != known.end()) {
        if (auto program = place->second.lock()) return Regex(std::move(program));
    }
    auto made = std::make_unique<Program>();
    made->code = regex::compile(pattern);
    const std::shared_ptr<const Program> program = std::move(made);
    if (place == known.end()) {
        if (known.size() >= most_known) {
            for (auto it = known.begin(); it != known.end();) it = it->second.expired() ? known.erase(it) : ++it;
            most_known = std::max(size_t(32), 2 * known.size());
        }
        place = known.emplace(pattern, std::weak_ptr<const Program>()).first;
    }
    place->second = program;
    return Regex(program);
}

Regex Regex::literal(std::string_view text) {
    if (text.empty()) return compile("");
    auto program = std::make_unique<Program>();
    program->is_literal = true;
    program->literal = std::string(text);
    program->failure = regex::failure_table(text);
    return Regex(std::move(program));
}

bool Regex::find(Bytes text, size_t from, Match* match) const {
    if (from > text.size) return false;
    if (!program_->is_literal) return regex::Machine(program_->code, text).find(from, match);
    return regex::find_literal(program_->literal, program_->failure, text, from, match);
}

std::optional<Regex::Needed> Regex::needed() const {
    if (program_->is_literal) return Needed{program_->literal, {}, false};
    const regex::Code& code = program_->code;
    std::vector<regex::Need> all;
    if (!code.anywhere) all.push_back(regex::need_of(code.first));
    const bool at_start = code.at_start && !all.empty();
    if (!at_start) all.insert(all.end(), code.needs.begin(), code.needs.end());
    if (all.empty()) return std::nullopt;
    const regex::Need& best = *std::min_element(all.begin(), all.end(), regex::is_rarer);
    Needed out{best.text, {}, at_start};
    for (size_t byte = 0; byte < best.bytes.size() && best.text.empty(); ++byte)
        if (best.bytes[byte]) out.bytes.push_back(char(byte));
    return out;
}

void Regex::find_all(Bytes text, std::vector<Match>* matches) const {
    matches->clear();
    Match match;
    if (program_->is_literal) {
        for (size_t from = 0; find(text, from, &match); from = match.end) matches->push_back(match);
        return;
    }
    regex::Machine machine(program_->code, text);
    // An empty match directly after the previous match does not count.
    size_t from = 0;
    size_t last_end = SIZE_MAX;
    while (from <= text.size && machine.find(from, &match)) {
        if (match.start == match.end && match.end == last_end) {
            from = match.end < text.size ? match.end + regex::char_size(text[match.end]) : match.end + 1;
            continue;
        }
        matches->push_back(match);
        from = last_end = match.end;
    }
}

}  // namespace crayon
