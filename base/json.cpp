// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace portcullis {
namespace {

constexpr std::size_t kDeepest = 64;    // values inside values; a topology needs five
constexpr std::size_t kMostShown = 60;  // characters of a text that a refusal shows

/// Which line the parser has come to. It reads one character past a number before it reports it:
/// the line of the last character that is no blank is the number's own.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t token_line = 1;

  void pass(char c) noexcept {
    if (c == '\n')
      ++line;
    else if (c != ' ' && c != '\t' && c != '\r')
      token_line = line;
  }
};

/// A text as nlohmann reads it; whoever holds the Position sees how far.
class Reader {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reader(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  Reader& operator++() {
    position_->pass(*at_++);
    return *this;
  }
  Reader operator++(int) {
    Reader before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reader& other) const { return at_ == other.at_; }
  bool operator!=(const Reader& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Position* position_;
};

/// Receives what nlohmann's parser finds, and makes the tree.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(const Position& position) : position_(position) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override {
    JsonValue made;
    made.kind = JsonValue::Kind::Boolean;
    made.boolean = value;
    return add(std::move(made));
  }
  bool number_integer(number_integer_t value) override {
    if (value == 0) return add_number(0, 0);  // "-0"
    return add_number(static_cast<double>(value), std::nullopt);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add_number(static_cast<double>(value), value);
  }
  /// What JSON Schema calls an integer: 8.0 and 8e0 are 8, as far as a double tells.
  bool number_float(number_float_t value, const string_t&) override {
    constexpr double kExact = 9007199254740992;  // 2^53
    if (value < 0 || value > kExact || value != std::floor(value))
      return add_number(value, std::nullopt);
    return add_number(value, static_cast<std::uint64_t>(value));
  }
  bool string(string_t& value) override {
    JsonValue made;
    made.kind = JsonValue::Kind::String;
    made.text = std::move(value);
    return add(std::move(made));
  }
  bool binary(binary_t&) override { return refuse("binary values are not JSON"); }
  bool start_object(std::size_t) override { return open(JsonValue::Kind::Object); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::Array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    auto& keys = open_.back().keys;
    if (is_known(keys, name))
      return refuse(fmt::format("\"{}\" stands twice in one object", name.substr(0, kMostShown)));
    keys.push_back(std::move(name));
    return true;
  }
  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    if (dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr)
      return refuse(fmt::format("{}{}; a number up to {:.2g} is accepted", path(),
                                token.substr(0, kMostShown), std::numeric_limits<double>::max()));
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error .. - .."
    const std::size_t colon = what.find(": ");
    const std::string text(colon == std::string_view::npos ? what : what.substr(colon + 2));
    return refuse(token.empty() ? text : text + "; JSON expected");
  }

  [[nodiscard]] bool is_refused() const { return !refusal_.empty(); }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] std::uint32_t refused_line() const { return refused_line_; }
  [[nodiscard]] JsonValue take() && { return std::move(root_); }

 private:
  /// Objects used as tables may have 10^5 keys: from so many on they are looked up, not read
  /// through.
  static constexpr std::size_t kFewKeys = 64;

  bool is_known(const std::vector<std::string>& keys, const std::string& name) {
    if (keys.size() < kFewKeys) return std::ranges::find(keys, name) != keys.end();
    tables_.resize(open_.size());
    auto& table = tables_.back();
    if (keys.size() == kFewKeys) table = {keys.begin(), keys.end()};
    return !table.insert(name).second;
  }

  /// Where a value that comes next belongs, as JsonCursor spells it: "links[1].capacity: ".
  [[nodiscard]] std::string path() const {
    std::string path;
    for (const JsonValue& of : open_) {
      if (of.kind == JsonValue::Kind::Array)
        path += fmt::format("[{}]", of.items.size());
      else if (!of.keys.empty())
        path += (path.empty() ? "" : ".") + of.keys.back();
    }
    return path.empty() ? path : path + ": ";
  }
  bool refuse(std::string what) {
    if (refusal_.empty()) {
      refusal_ = one_line(std::move(what));
      refused_line_ = position_.token_line;
    }
    return false;
  }
  bool add_number(double value, std::optional<std::uint64_t> whole) {
    if (!std::isfinite(value)) return refuse("a number beyond the range of a double");
    JsonValue made;
    made.kind = JsonValue::Kind::Number;
    made.number = value;
    made.whole = whole;
    return add(std::move(made));
  }
  bool add(JsonValue made) {
    if (made.line == 0) made.line = position_.token_line;
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(made);
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == kDeepest)
      return refuse(fmt::format("nested deeper than {} levels", kDeepest));
    JsonValue made;
    made.kind = kind;
    made.line = position_.token_line;
    open_.push_back(std::move(made));
    return true;
  }
  bool close() {
    JsonValue made = std::move(open_.back());
    open_.pop_back();
    return add(std::move(made));
  }

  const Position& position_;
  std::vector<JsonValue> open_;
  std::vector<std::unordered_set<std::string>> tables_;  // keys of open_[i], of large objects only
  JsonValue root_;
  std::string refusal_;
  std::uint32_t refused_line_ = 0;
};

std::string_view name_of(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::Null:
      return "null";
    case JsonValue::Kind::Boolean:
      return "true or false";
    case JsonValue::Kind::Number:
      return "a number";
    case JsonValue::Kind::String:
      return "a string";
    case JsonValue::Kind::Array:
      return "an array";
    case JsonValue::Kind::Object:
      return "an object";
  }
  return "nothing known";
}

std::string shown(const JsonValue& value) {
  if (value.kind == JsonValue::Kind::String)
    return fmt::format("\"{}\"", value.text.substr(0, kMostShown));
  if (value.whole) return fmt::format("{}", *value.whole);
  if (value.kind == JsonValue::Kind::Number) return fmt::format("{}", value.number);
  if (value.kind == JsonValue::Kind::Boolean) return value.boolean ? "true" : "false";
  return std::string(name_of(value.kind));
}

bool is_accepted(std::string_view accepted, std::string_view key) {
  while (!accepted.empty()) {
    const std::size_t comma = std::min(accepted.find(", "), accepted.size());
    if (accepted.substr(0, comma) == key) return true;
    accepted.remove_prefix(std::min(comma + 2, accepted.size()));
  }
  return false;
}

}  // namespace

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

const JsonValue* JsonValue::find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

Result<JsonValue> parse_json(std::string_view text, std::string_view file) {
  // nlohmann's lexer takes a NUL for the end of the text, whatever follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    return fail(Errc::Malformed, fmt::format("{}:{}: a NUL byte; JSON expected", file,
                                             1 + std::ranges::count(text.substr(0, nul), '\n')));
  Position position;
  TreeBuilder builder(position);
  const Reader first(text.data(), &position);
  const Reader last(text.data() + text.size(), &position);
  if (!nlohmann::json::sax_parse(first, last, &builder) || builder.is_refused())
    return fail(Errc::Malformed,
                fmt::format("{}:{}: {}", file, builder.refused_line(), builder.refusal()));
  return std::move(builder).take();
}

tl::unexpected<Error> JsonCursor::bad(std::string_view what) const {
  std::string text = path_.empty() ? std::string(what) : fmt::format("{}: {}", path_, what);
  return fail(Errc::Malformed,
              fmt::format("{}:{}: {}", file_, value_->line, one_line(std::move(text))));
}

tl::unexpected<Error> JsonCursor::refuse(std::string_view accepted) const {
  return bad(fmt::format("{}; {} is accepted", shown(*value_), accepted));
}

tl::unexpected<Error> JsonCursor::wrong_kind(std::string_view expected) const {
  return bad(fmt::format("{} expected, {} found", expected, name_of(value_->kind)));
}

Result<void> JsonCursor::expect_object(std::string_view accepted) const {
  if (value_->kind != JsonValue::Kind::Object) return wrong_kind("an object");
  for (std::size_t i = 0; i < size(); ++i)
    if (!is_accepted(accepted, value_->keys[i]))
      return item(i).bad(fmt::format("no such field; accepted are {}", accepted));
  return {};
}

Result<void> JsonCursor::expect_array() const {
  if (value_->kind != JsonValue::Kind::Array) return wrong_kind("an array");
  return {};
}

JsonCursor JsonCursor::item(std::size_t index) const {
  if (value_->kind != JsonValue::Kind::Object)
    return {value_->items[index], file_, fmt::format("{}[{}]", path_, index)};
  return {value_->items[index], file_,
          path_.empty() ? value_->keys[index] : fmt::format("{}.{}", path_, value_->keys[index])};
}

JsonCursor JsonCursor::at(std::string_view key) const {
  const auto found = std::ranges::find(value_->keys, key);
  if (found == value_->keys.end()) return *this;
  return item(static_cast<std::size_t>(found - value_->keys.begin()));
}

Result<std::string> JsonCursor::string() const {
  if (value_->kind != JsonValue::Kind::String) return wrong_kind("a string");
  return value_->text;
}

Result<double> JsonCursor::number() const {
  if (value_->kind != JsonValue::Kind::Number) return wrong_kind("a number");
  return value_->number;
}

Result<bool> JsonCursor::boolean() const {
  if (value_->kind != JsonValue::Kind::Boolean) return wrong_kind("true or false");
  return value_->boolean;
}

Result<std::uint32_t> JsonCursor::count(std::uint32_t most) const {
  PORTCULLIS_TRY_ASSIGN(const double value, number());
  if (value < 0 || value > most || value != std::floor(value))
    return refuse(fmt::format("a whole number from 0 to {}", most));
  return static_cast<std::uint32_t>(value);
}

Result<void> JsonCursor::read(std::string_view key, double& to) const {
  if (!has(key)) return {};
  PORTCULLIS_TRY_ASSIGN(to, at(key).number());
  return {};
}

Result<void> JsonCursor::read(std::string_view key, std::string& to) const {
  if (!has(key)) return {};
  PORTCULLIS_TRY_ASSIGN(to, at(key).string());
  return {};
}

}  // namespace portcullis
