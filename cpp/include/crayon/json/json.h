// A small JSON reader (RFC 8259) for tokenizer.json files, as strict as serde_json: no comments, no trailing commas, no
// lone surrogates, UTF-8 only, nesting at most 127 deep. Values live in one document; strings without escapes point
// into the input, which must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon::json {

// The elements of an array or the members of an object, where a Document has them.
template <typename T>
class Items {
  public:
    Items(const T* first, size_t size) : first_(first), size_(size) {}
    const T* begin() const { return first_; }
    const T* end() const { return first_ + size_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T& operator[](size_t i) const { return first_[i]; }
    const T& front() const { return first_[0]; }
    const T& back() const { return first_[size_ - 1]; }

  private:
    const T* first_;
    size_t size_;
};

// Small and trivially copied: strings, arrays and objects are owned by the Document (or, for strings, by the input).
class Value {
  public:
    // A number without fraction or exponent is an `integer` when it fits int64_t, `large` when it fits uint64_t alone;
    // every other number is `number`.
    enum class Type : uint8_t { null, boolean, integer, large, number, string, array, object };
    using Member = std::pair<std::string_view, Value>;

    Type type() const { return type_; }
    bool is_null() const { return type_ == Type::null; }
    bool is_string() const { return type_ == Type::string; }
    bool is_array() const { return type_ == Type::array; }
    bool is_object() const { return type_ == Type::object; }

    // Each raises Error(vocabulary) that names `what` when the value is of another type.
    bool as_bool(const char* what) const;
    int64_t as_integer(const char* what) const;
    uint64_t as_large(const char* what) const;
    double as_number(const char* what) const;  // integers are numbers, too
    // How many doubles the one nearest to the text lies farther from zero than as_number; kFar for too many. 0 where
    // numbers were read as the nearest ones.
    int32_t ulps_to_nearest() const;
    static constexpr int32_t kFar = INT32_MIN;
    std::string_view as_string(const char* what) const;
    Items<Value> as_array(const char* what) const;
    Items<Member> as_object(const char* what) const;

    // The member of that name (the last one, when a name is repeated), or null when there is none or this is no object.
    const Value* find(std::string_view name) const;

  private:
    friend class Parser;
    Type type_ = Type::null;
    uint32_t size_ = 0;  // of the string, the array or the object; of a number, its ulps_to_nearest
    union {
        bool boolean_;
        int64_t integer_ = 0;
        uint64_t large_;
        double number_;
        const char* string_;
        const Value* array_;
        const Member* object_;
    };
};

struct Document {
    Value root;
    // What the values point to. Moving a deque keeps its elements where they are; copying one would not.
    std::deque<std::string> unescaped;      // strings that had escapes
    std::deque<std::vector<Value>> arrays;  // each holds many, one behind the other
    std::deque<std::vector<Value::Member>> objects;

    Document() = default;
    Document(Document&&) = default;
    Document& operator=(Document&&) = default;
};

// How a number with a fraction or an exponent is read: as serde_json does (json_number.h), or as the nearest double.
enum class Numbers { serde, nearest };

// Error(vocabulary) with the byte offset, line and column of the fault. At most 4 GiB of text.
Document parse(std::string_view text, Numbers numbers = Numbers::serde);

// The JSON text of a string, quotes included, non-ASCII kept as UTF-8.
std::string quote(std::string_view text);
// The same at `out`, where there is room for 6 bytes for each one of the text, and 2; its end.
char* write_quoted(char* out, std::string_view text);
// The same at the end of a string.
void append_quoted(std::string& out, std::string_view text);

// The JSON text of a value without white space, members in their order, numbers in their shortest form.
std::string serialize(const Value& value);

}  // namespace crayon::json
