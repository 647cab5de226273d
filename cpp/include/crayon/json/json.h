// A JSON reader (RFC 8259) for tokenizer.json files. As strict as serde_json: no comments, no trailing commas, no lone
// surrogates, UTF-8 only, at most 127 levels of nesting. One Document owns all values. Strings without escapes point
// into the input, which must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon::json {

// The elements of an array or the members of an object; the Document owns them.
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

// A small handle, cheap to copy. The Document owns arrays, objects and unescaped strings; the input owns other strings.
class Value {
  public:
    // Numbers without fraction and exponent are `integer` if they fit int64_t, `large` if they fit only uint64_t. All
    // other numbers are `number`.
    enum class Type : uint8_t { null, boolean, integer, large, number, string, array, object };
    using Member = std::pair<std::string_view, Value>;

    Type type() const { return type_; }
    bool is_null() const { return type_ == Type::null; }
    bool is_string() const { return type_ == Type::string; }
    bool is_array() const { return type_ == Type::array; }
    bool is_object() const { return type_ == Type::object; }

    // Each raises Error(vocabulary), which names `what`, if the value has another type.
    bool as_bool(const char* what) const;
    int64_t as_integer(const char* what) const;
    uint64_t as_large(const char* what) const;
    double as_number(const char* what) const;  // Integers are numbers, too.
    // Returns how many doubles as_number is off: the steps, away from zero, from as_number to the double nearest to the
    // number's text. Returns kFar if the distance is too large, and 0 if numbers were read with Numbers::nearest.
    int32_t ulps_to_nearest() const;
    static constexpr int32_t kFar = INT32_MIN;
    std::string_view as_string(const char* what) const;
    Items<Value> as_array(const char* what) const;
    Items<Member> as_object(const char* what) const;

    // Returns the member of that name, the last one if the name is repeated. Returns null if the member is missing or
    // this value is not an object.
    const Value* find(std::string_view name) const;

  private:
    friend class Parser;
    Type type_ = Type::null;
    uint32_t size_ = 0;  // of the string, array or object; for a number, its ulps_to_nearest
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
    // The storage that values point into. Moving a deque keeps its elements in place; copying would not.
    std::deque<std::string> unescaped;      // strings that had escapes
    std::deque<std::vector<Value>> arrays;  // each holds many arrays, one after the other
    std::deque<std::vector<Value::Member>> objects;

    Document() = default;
    Document(Document&&) = default;
    Document& operator=(Document&&) = default;
};

// How to read a number with a fraction or an exponent: as serde_json does (json_number.h), or as the nearest double.
enum class Numbers { serde, nearest };

// Error(vocabulary) gives the byte offset, line and column of the fault. At most 4 GiB of text.
Document parse(std::string_view text, Numbers numbers = Numbers::serde);

// The JSON text of a string, with quotes. Non-ASCII stays UTF-8.
std::string quote(std::string_view text);
// Writes quote(text) to `out` and returns the end of the text. `out` needs room for 6 bytes per byte of the string, and
// 2.
char* write_quoted(char* out, std::string_view text);
// Appends quote(text) to `out`.
void append_quoted(std::string& out, std::string_view text);

// The JSON text of a value, without white space: members in order, numbers in their shortest form.
std::string serialize(const Value& value);

}  // namespace crayon::json
