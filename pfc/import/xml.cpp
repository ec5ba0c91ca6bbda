// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace portcullis::pfc::import {
namespace {

constexpr std::size_t kDeepest = 100;
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kEndOfName = " \t\r\n/>=<\"'";

std::string_view without_prefix(std::string_view name) {
  const auto colon = std::ranges::find(name, ':');
  return colon == name.end() ? name : std::string_view(colon + 1, name.end());
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<XmlElement> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    PORTCULLIS_TRY(skip_misc());
    if (at_ >= text_.size() || text_[at_] != '<') return wrong("an element expected");
    PORTCULLIS_TRY_ASSIGN(XmlElement top, element(0));
    PORTCULLIS_TRY(skip_misc());
    if (at_ < text_.size()) return wrong("text behind the outermost element");
    return top;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view what) const {
    return fail(Errc::Malformed, fmt::format("{}:{}: {}", file_, line(), what));
  }
  [[nodiscard]] std::size_t line() const {
    while (counted_ < std::min(at_, text_.size()))
      if (text_[counted_++] == '\n') ++line_;
    return line_;
  }
  [[nodiscard]] bool is_at(std::string_view what) const {
    return text_.substr(std::min(at_, text_.size())).starts_with(what);
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  Result<void> skip_past(std::string_view end, std::string_view what) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return wrong(fmt::format("{} that is never closed", what));
    at_ = found + end.size();
    return {};
  }
  /// A comment, a processing instruction, or a declaration without a DTD inside.
  Result<bool> skip_one() {
    if (is_at("<!--")) {
      PORTCULLIS_TRY(skip_past("-->", "a comment"));
    } else if (is_at("<?")) {
      PORTCULLIS_TRY(skip_past("?>", "an instruction"));
    } else if (is_at("<!DOCTYPE")) {
      const std::size_t end = text_.find('>', at_);
      if (text_.substr(at_, end == std::string_view::npos ? 0 : end - at_).find('[') !=
          std::string_view::npos)
        return wrong("a DTD inside the file; none is accepted");
      PORTCULLIS_TRY(skip_past(">", "a DOCTYPE"));
    } else {
      return false;
    }
    return true;
  }
  Result<void> skip_misc() {
    while (true) {
      skip_blanks();
      PORTCULLIS_TRY_ASSIGN(const bool is_skipped, skip_one());
      if (!is_skipped) return {};
    }
  }

  Result<std::string> name() {
    const std::size_t end = std::min(text_.find_first_of(kEndOfName, at_), text_.size());
    if (end == at_) return wrong("a name expected");
    std::string found(text_.substr(at_, end - at_));
    at_ = end;
    return found;
  }

  Result<std::string> unescaped(std::string_view raw) const {
    struct Entity {
      std::string_view name;
      char character;
    };
    constexpr std::array kEntities = {Entity{"lt", '<'}, Entity{"gt", '>'}, Entity{"amp", '&'},
                                      Entity{"quot", '"'}, Entity{"apos", '\''}};
    std::string text;
    while (!raw.empty()) {
      const std::size_t amp = std::min(raw.find('&'), raw.size());
      text += raw.substr(0, amp);
      raw.remove_prefix(amp);
      if (raw.empty()) break;
      const std::size_t end = raw.find(';');
      const std::string_view entity =
          end == std::string_view::npos ? std::string_view() : raw.substr(1, end - 1);
      const auto known = std::ranges::find(kEntities, entity, &Entity::name);
      if (known != kEntities.end())
        text += known->character;
      else if (!entity.starts_with('#') || !append_code(entity.substr(1), text))
        return wrong(fmt::format("&{}; is no entity of XML", entity.substr(0, 20)));
      raw.remove_prefix(end + 1);
    }
    return text;
  }
  static bool append_code(std::string_view digits, std::string& to) {
    const bool is_hex = digits.starts_with('x');
    if (is_hex) digits.remove_prefix(1);
    std::uint32_t code = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size() || code == 0 ||
        code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return false;
    const auto put = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 0x3f));
    } else {
      if (code < 0x10000) {
        put(0xe0 | code >> 12);
      } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
      }
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    }
    return true;
  }

  Result<void> attribute(XmlElement& to) {
    PORTCULLIS_TRY_ASSIGN(std::string key, name());
    skip_blanks();
    if (!is_at("=")) return wrong(fmt::format("{}: = and a value in quotes expected", key));
    ++at_;
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'')
      return wrong(fmt::format("{}: a value in quotes expected", key));
    const std::size_t begin = ++at_;
    PORTCULLIS_TRY(skip_past(std::string_view(&quote, 1), "a quote"));
    PORTCULLIS_TRY_ASSIGN(std::string value, unescaped(text_.substr(begin, at_ - 1 - begin)));
    if (to.attribute(key) != nullptr) return wrong(fmt::format("{}: a second time", key));
    to.attributes.emplace_back(std::move(key), std::move(value));
    return {};
  }

  Result<XmlElement> element(std::size_t depth) {
    if (depth > kDeepest) return wrong(fmt::format("elements deeper than {}", kDeepest));
    XmlElement found;
    found.line = line();
    ++at_;
    PORTCULLIS_TRY_ASSIGN(const std::string whole, name());
    found.name = without_prefix(whole);
    while (true) {
      skip_blanks();
      if (is_at("/>")) {
        at_ += 2;
        return found;
      }
      if (is_at(">")) break;
      PORTCULLIS_TRY(attribute(found));
    }
    ++at_;
    PORTCULLIS_TRY(content(found, depth));
    PORTCULLIS_TRY_ASSIGN(const std::string closing, name());
    if (closing != whole)
      return wrong(
          fmt::format("</{}> where </{}> (line {}) is expected", closing, whole, found.line));
    skip_blanks();
    if (!is_at(">")) return wrong("> expected");
    ++at_;
    const std::size_t begin = std::min(found.text.find_first_not_of(kBlanks), found.text.size());
    found.text = found.text.substr(begin, found.text.find_last_not_of(kBlanks) + 1 - begin);
    return found;
  }

  /// Up to behind "</".
  Result<void> content(XmlElement& to, std::size_t depth) {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('<', at_), text_.size());
      PORTCULLIS_TRY_ASSIGN(const std::string text, unescaped(text_.substr(at_, end - at_)));
      to.text += text;
      at_ = end;
      if (is_at("</")) {
        at_ += 2;
        return {};
      }
      PORTCULLIS_TRY_ASSIGN(const bool is_skipped, skip_one());
      if (is_skipped || at_ >= text_.size()) continue;
      if (is_at("<![CDATA[")) {
        at_ += 9;
        const std::size_t begin = at_;
        PORTCULLIS_TRY(skip_past("]]>", "CDATA"));
        to.text += text_.substr(begin, at_ - 3 - begin);
        continue;
      }
      PORTCULLIS_TRY_ASSIGN(XmlElement child, element(depth + 1));
      to.children.push_back(std::move(child));
    }
    return wrong(fmt::format("<{}> of line {} is never closed", to.name, to.line));
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  mutable std::size_t counted_ = 0;
  mutable std::size_t line_ = 1;
};

}  // namespace

const std::string* XmlElement::attribute(std::string_view key) const {
  const auto found = std::ranges::find(attributes, key,
                                       [](const auto& one) { return std::string_view(one.first); });
  return found == attributes.end() ? nullptr : &found->second;
}

Result<XmlElement> parse_xml(std::string_view text, std::string_view file) {
  return Parser(text, file).run();
}

}  // namespace portcullis::pfc::import
