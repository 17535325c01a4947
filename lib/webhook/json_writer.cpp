#include "webhook/json_writer.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace webhook::json {

namespace {
rapidjson::SizeType size(std::string_view text) { return static_cast<rapidjson::SizeType>(text.size()); }
}  // namespace

struct Writer::Impl {
  rapidjson::StringBuffer buffer{nullptr, 4096};  // enough for most answers
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
};

Writer::Writer() : impl_(std::make_unique<Impl>()) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::begin_object() { impl_->writer.StartObject(); }
void Writer::end_object() { impl_->writer.EndObject(); }
void Writer::begin_array() { impl_->writer.StartArray(); }
void Writer::end_array() { impl_->writer.EndArray(); }
void Writer::name(std::string_view name) { impl_->writer.Key(name.data(), size(name)); }

void Writer::write(std::nullptr_t) { impl_->writer.Null(); }
void Writer::write(std::int64_t number) { impl_->writer.Int64(number); }
void Writer::write(std::string_view text) { impl_->writer.String(text.data(), size(text)); }
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
    for (const auto& [name, member] : *object) this->member(name, member);
    end_object();
  } else {
    write(nullptr);
  }
}

std::string Writer::take() { return {impl_->buffer.GetString(), impl_->buffer.GetSize()}; }

}  // namespace webhook::json
