// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/json_lines.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace portcullis::failover {
namespace {

/// How far the lexer has read. It may have read one character past the value it reports.
struct Position {
  std::size_t line = 1;     // of the last character
  bool ended_line = false;  // the last character was the end of that line
};

/// An input iterator that keeps the count.
class Counting {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Counting(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  Counting& operator++() {
    if (position_->ended_line) ++position_->line;
    position_->ended_line = *at_ == '\n';
    ++at_;
    return *this;
  }
  friend bool operator!=(const Counting& a, const Counting& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  Position* position_;
};

constexpr std::size_t kMaxDepth = 64;

/// Builds the tree from the events of nlohmann's parser.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const Position& position) : position_(position) {}

  bool null() override { return add(JsonValue::Null{}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::uint64_t{value}); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*count*/) override { return open(JsonValue::Object{}); }
  bool key(string_t& name) override {
    keys_.back() = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*count*/) override { return open(JsonValue::Array{}); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*offset*/, const std::string& token,
                   const nlohmann::detail::exception& why) override {
    const std::string what = why.what();
    const std::size_t reason = what.find("syntax error");
    error_ = fmt::format("line {}: {} at '{}', accepted is JSON", position_.line,
                         reason == std::string::npos ? what : what.substr(reason, 60), token);
    return false;
  }

  [[nodiscard]] Result<JsonValue> take() {
    if (!error_.empty()) return fail(Errc::Malformed, std::move(error_));
    return std::move(root_);
  }

 private:
  template <class T>
  bool add(T value) {
    JsonValue made{position_.line, std::move(value)};
    if (open_.empty()) {
      root_ = std::move(made);
    } else if (auto* object = std::get_if<JsonValue::Object>(&open_.back().value)) {
      object->names.push_back(std::move(keys_.back()));
      object->values.push_back(std::move(made));
    } else if (auto* array = std::get_if<JsonValue::Array>(&open_.back().value)) {
      array->items.push_back(std::move(made));
    }
    return true;
  }
  template <class T>
  bool open(T value) {
    if (open_.size() == kMaxDepth) {
      error_ = fmt::format("line {}: nested deeper than {}, which is accepted", position_.line,
                           kMaxDepth);
      return false;
    }
    open_.push_back({position_.line, std::move(value)});
    keys_.emplace_back();
    return true;
  }
  bool close() {
    JsonValue closed = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    const std::size_t line = closed.line;
    std::visit([this](auto& value) { add(std::move(value)); }, closed.value);
    last_added().line = line;
    return true;
  }
  JsonValue& last_added() {
    if (open_.empty()) return root_;
    if (auto* object = std::get_if<JsonValue::Object>(&open_.back().value))
      return object->values.back();
    return std::get<JsonValue::Array>(open_.back().value).items.back();
  }

  const Position& position_;
  std::vector<JsonValue> open_;
  std::vector<std::string> keys_;  // of each open value: the key whose value is awaited
  JsonValue root_;
  std::string error_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const noexcept {
  const auto* object = std::get_if<Object>(&value);
  if (object == nullptr) return nullptr;
  for (std::size_t i = 0; i < object->names.size(); ++i)
    if (object->names[i] == name) return &object->values[i];
  return nullptr;
}

std::string_view JsonValue::kind() const noexcept {
  constexpr std::string_view kKinds[] = {"null",     "true or false", "a number", "a signed number",
                                         "a string", "an object",     "an array"};
  return kKinds[value.index()];
}

Result<JsonValue> parse_json(std::string_view text) {
  Position position;
  Builder builder(position);
  nlohmann::json::sax_parse(Counting(text.data(), &position),
                            Counting(text.data() + text.size(), &position), &builder);
  return builder.take();
}

}  // namespace portcullis::failover
