// SPDX-License-Identifier: BSD-3-Clause
#include "program/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "program/standard_streams.hpp"
#include "program/version.hpp"

namespace portcullis::program {
namespace {

/// "not in range [1 - 7]", as CLI11 says it from 2.2 on, is "1 to 7" as it was before.
std::string with_plain_range(std::string text) {
  constexpr std::string_view kBefore = "not in range [";
  constexpr std::string_view kBetween = " - ";
  const std::size_t before = text.find(kBefore);
  if (before == std::string::npos) return text;
  const std::size_t first = before + kBefore.size();
  const std::size_t end = text.find(']', first);
  const std::size_t between = text.find(kBetween, first);
  if (end == std::string::npos || between > end) return text;
  text.erase(end, 1).replace(between, kBetween.size(), " to ");
  return text.erase(first - 1, 1);
}

tl::unexpected<Error> refuse(std::string text) {
  text = with_plain_range(std::move(text));
  while (text.ends_with('\n')) text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return fail(Errc::InvalidArgument, text + "; --help lists what is accepted");
}

/// Where a line goes on below itself: at its text, behind a term, or a bit further in.
std::size_t goes_on_at(std::string_view line) {
  constexpr std::size_t kFurther = 4;
  constexpr std::size_t kColumn = 30;  // where CLI11 begins the text of an option, after one blank
  const std::size_t term = line.find_first_not_of(' ');
  if (line[term] == '-' && line[kColumn - 1] == ' ' && line[kColumn] != ' ') return kColumn;
  const std::size_t text = line.find_first_not_of(' ', line.find("  ", term));
  if (text <= kColumn) return text;
  return term == 0 || term > kFurther ? term : term + kFurther;
}

/// Whether `next` goes on with `line`, what was broken off a line and begins at `column`: as text
/// in that column, which is not the first one, where a heading may stand. Behind a colon a list
/// begins.
bool goes_on_with(std::string_view line, std::string_view next, std::size_t column) noexcept {
  return column > 0 && next.find_first_not_of(' ') == column && !line.ends_with(':');
}

/// CLI11 leaves it to the terminal to break lines, in the middle of words.
std::string fitted(std::string_view text) {
  constexpr std::size_t kColumns = 100;
  const auto next_line = [&text] {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
  };
  std::string fits;
  while (!text.empty()) {
    std::string line(next_line());
    while (line.size() > kColumns) {
      const std::size_t below = goes_on_at(line);
      const std::size_t blank = line.rfind(' ', kColumns);
      if (blank == std::string::npos || blank <= below) break;  // one word
      fits += line.substr(0, line.find_last_not_of(' ', blank) + 1) + "\n";
      line = std::string(below, ' ') + line.substr(blank + 1);
      if (line.size() <= kColumns && goes_on_with(line, text.substr(0, text.find('\n')), below))
        line += next_line().substr(below - 1);
    }
    fits += line + "\n";
  }
  return fits;
}

/// An option that was given nothing would be taken for one that was not given.
const CLI::Option* given_nothing(const CLI::App& app) {
  for (const CLI::Option* const option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && option->get_expected_max() > 0) return option;
  for (const CLI::App* const command : app.get_subcommands())
    if (const CLI::Option* const option = given_nothing(*command)) return option;
  return nullptr;
}

const CLI::Option* option_of(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* const option = app.get_option_no_throw(name)) return option;
  for (const CLI::App* const command : app.get_subcommands())
    if (const CLI::Option* const option = option_of(*command, name)) return option;
  return nullptr;
}

/// "--rest-ms: 1,,2" of a list with an empty place, which CLI11 passes over.
std::optional<std::string> list_with_a_hole(const CLI::App& app,
                                            const std::vector<std::string>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::size_t equals = given[i].find('=');
    const CLI::Option* const option =
        given[i].starts_with("--") ? option_of(app, given[i].substr(0, equals)) : nullptr;
    if (option == nullptr || option->get_delimiter() == '\0') continue;
    const bool is_apart = equals == std::string::npos && i + 1 < given.size();
    const std::string value = is_apart ? given[i + 1] : given[i].substr(equals + 1);
    const char between = option->get_delimiter();
    if (value.starts_with(between) || value.ends_with(between) ||
        value.find(std::string(2, between)) != std::string::npos)
      return option->get_name() + ": " + value + ": an empty place in a list";
  }
  return std::nullopt;
}

/// A number that 64 bits do not hold: CLI11 takes -1 for the most that they do, and so whatever is
/// more. Options whose type says so have numbers below 0, or text that may look like one.
bool is_out_of_range(std::string_view value) noexcept {
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  const bool is_negative = value.starts_with('-');
  if (is_negative || value.starts_with('+')) value.remove_prefix(1);
  const bool is_hex = value.starts_with("0x") || value.starts_with("0X");
  if (is_hex) value.remove_prefix(2);
  std::uint64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, number, is_hex ? 16 : 10);
  if (value.empty() || last != end) return false;
  return error == std::errc::result_out_of_range || (is_negative && number != 0);
}

/// A number that CLI11 takes for an octal one, or for none where it has an 8 or a 9.
bool has_leading_zero(std::string_view value) noexcept {
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  if (value.starts_with('-') || value.starts_with('+')) value.remove_prefix(1);
  return value.size() > 1 && value.front() == '0' &&
         value.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A NaN where a range is checked: CLI11 compares with both ends, and no comparison with one holds.
/// A type goes on with what is checked, behind a colon: "FLOAT in [0 - 1]", "KB:50 to 4000".
bool is_nan_in_a_range(std::string_view type, const std::string& value) {
  const std::size_t colon = type.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view range = type.substr(colon + 1);
  const bool is_of_numbers = !range.empty() && range.front() >= '0' && range.front() <= '9';
  if (type.find("FLOAT") == std::string_view::npos && !is_of_numbers) return false;
  return std::isnan(std::strtod(value.c_str(), nullptr));
}

/// By what the help calls its value: CLI11 does not say what is behind it. Text may begin with as
/// many zeros as it likes.
bool takes_integers(std::string_view type) {
  type = type.substr(0, type.find_first_of(": "));  // behind it, what is checked
  constexpr std::array kNames{"UINT", "INT", "N", "MS", "LIST"};
  const bool is_range = !type.empty() && type.front() >= '0' && type.front() <= '9';
  return is_range || std::ranges::find(kNames, type) != kNames.end();
}

std::string describe(const CLI::Option& option, const std::string& value, const char* accepted) {
  return option.get_name() + ": " + value + ": " + accepted + " is accepted";
}

enum class Looks : std::uint8_t { AtAll, AtLeadingZeros };

/// A number that would be taken for another one; nothing otherwise. Of what CLI11 has refused only
/// a leading zero is told: it says of all else what is accepted, and of 010 that 8 is not.
std::optional<std::string> mistaken_number(const CLI::App& app, Looks looks = Looks::AtAll) {
  for (const CLI::Option* const option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool may_be_negative =
        type.starts_with("FLOAT") || type.starts_with("INT") || type.starts_with("TEXT");
    for (const std::string& value : option->results()) {
      if (takes_integers(type) && has_leading_zero(value))
        return describe(*option, value, "a decimal number without a leading zero, or 0x and hex,");
      if (looks == Looks::AtAll && is_nan_in_a_range(type, value))
        return describe(*option, value, "a number");
      if (looks == Looks::AtAll && !may_be_negative && is_out_of_range(value))
        return describe(*option, value, "a number from 0 to 18446744073709551615");
    }
  }
  for (const CLI::App* const command : app.get_subcommands())
    if (auto mistake = mistaken_number(*command, looks)) return mistake;
  return std::nullopt;
}

/// CLI11 takes 3 of --vf=3 for "yes", and no for "no", in silence.
void let_flags_take_nothing(CLI::App& app) {
  for (CLI::Option* const option : app.get_options())
    if (option->get_expected_max() == 0) option->disable_flag_override();
  for (CLI::App* const command : app.get_subcommands({})) let_flags_take_nothing(*command);
}

/// "--vf=3: --vf takes no value" of a flag that was given one; else as CLI11 says it.
std::string mismatch(const CLI::ArgumentMismatch& error, const std::vector<std::string>& given) {
  constexpr std::string_view kOverride = " was given a disallowed flag override";
  const std::string_view text = error.what();
  if (!text.ends_with(kOverride)) return std::string(text);
  const std::string flag = "--" + std::string(text.substr(0, text.size() - kOverride.size()));
  const auto argument = std::ranges::find_if(
      given, [&flag](const std::string& each) { return each.starts_with(flag + "="); });
  return (argument == given.end() ? flag : *argument) + ": " + flag + " takes no value";
}

}  // namespace

Result<std::optional<std::string>> parse_arguments(CLI::App& app,
                                                   std::vector<std::string> arguments) {
  answer_version(app);
  let_flags_take_nothing(app);
  const std::vector<std::string> given = arguments;
  std::ranges::reverse(arguments);  // CLI11 takes the last argument first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return fitted(app.help() + std::string(kExitHelp));
  } catch (const CLI::CallForVersion& version) {
    return std::string(version.what()) + "\n";
  } catch (const CLI::RequiredError& error) {
    if (const auto mistake = mistaken_number(app, Looks::AtLeadingZeros)) return refuse(*mistake);
    // What is missing is told first, though it may be what was misspelt.
    const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
    return refuse(unknown.empty() ? error.what()
                                  : "The following argument was not expected: " + unknown.front());
  } catch (const CLI::ArgumentMismatch& error) {
    return refuse(mismatch(error, given));
  } catch (const CLI::ConversionError& error) {
    // CLI11 from 2.2 on takes no -1 for a number from 0 on, and does not say what it takes.
    return refuse(mistaken_number(app).value_or(error.what()));
  } catch (const CLI::ParseError& error) {
    // "Value 8 not in range" is no answer to 010.
    return refuse(mistaken_number(app, Looks::AtLeadingZeros).value_or(error.what()));
  }
  if (const CLI::Option* const option = given_nothing(app))
    return refuse(option->get_name() + ": an empty value");
  if (const auto hole = list_with_a_hole(app, given)) return refuse(*hole);
  if (const auto mistake = mistaken_number(app)) return refuse(*mistake);
  return std::nullopt;
}

}  // namespace portcullis::program
