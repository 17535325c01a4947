#include "lib/json/json_writer.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace json {

namespace {

bool has_escapes(std::string_view text) {
  constexpr std::size_t block = 16;
  // A block has a fixed size and no early exit, so that the compiler vectorises the inner loop.
  for (; text.size() >= block; text.remove_prefix(block)) {
    unsigned char found = 0;
    for (std::size_t i = 0; i < block; ++i) found |= static_cast<unsigned char>(needs_escape(text[i]));
    if (found != 0) return true;
  }
  return std::ranges::any_of(text, [](char c) { return needs_escape(c); });
}

/// RapidJSON writes each character of a text by itself. Most texts need no escape; this class copies such a
/// text whole, which is faster.
class CopyingWriter : public rapidjson::Writer<rapidjson::StringBuffer> {
 public:
  using rapidjson::Writer<rapidjson::StringBuffer>::Writer;

  void text(std::string_view text) {
    if (has_escapes(text))
      String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    else
      plain_text(text);
  }

  void plain_text(std::string_view text) {
    Prefix(rapidjson::kStringType);
    char* to = os_->Push(text.size() + 2);
    *to++ = '"';
    to = std::ranges::copy(text, to).out;
    *to = '"';
  }
};

}  // namespace

struct Writer::Impl {
  explicit Impl(std::size_t expected) : buffer(nullptr, expected) {}

  rapidjson::StringBuffer buffer;
  CopyingWriter writer{buffer};
};

Writer::Writer(std::size_t expected) : impl_(std::make_unique<Impl>(expected)) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::begin_object() { impl_->writer.StartObject(); }
void Writer::end_object() { impl_->writer.EndObject(); }
void Writer::begin_array() { impl_->writer.StartArray(); }
void Writer::end_array() { impl_->writer.EndArray(); }
void Writer::name(Name name) { impl_->writer.plain_text(name.text()); }

void Writer::write(std::nullptr_t) { impl_->writer.Null(); }
void Writer::write(std::int64_t number) { impl_->writer.Int64(number); }
void Writer::write(std::string_view text) { impl_->writer.text(text); }
void Writer::write(platform::UtcTime time) {
  const auto text = platform::iso8601_text(time);
  impl_->writer.plain_text({text.data(), text.size()});
}
void Writer::write_bool(bool b) { impl_->writer.Bool(b); }

void Writer::write(const Value& value) {
  if (const auto* b = value.boolean()) {
    write(*b);
  } else if (const auto* number = value.number()) {
    impl_->writer.RawValue(number->text.data(), number->text.size(), rapidjson::kNumberType);
  } else if (const auto* string = value.string()) {
    write(std::string_view(*string));
  } else if (const auto* array = value.array()) {
    begin_array();
    for (const auto& element : *array) write(element);
    end_array();
  } else if (const auto* object = value.object()) {
    begin_object();
    for (const auto& [name, member] : *object) {
      impl_->writer.text(name);
      write(member);
    }
    end_object();
  } else {
    write(nullptr);
  }
}

std::string Writer::take() { return {impl_->buffer.GetString(), impl_->buffer.GetSize()}; }

}  // namespace json
