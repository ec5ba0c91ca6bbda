// SPDX-License-Identifier: BSD-3-Clause
#include "tests/light/agreement.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace portcullis::light::testing {
namespace {

using Json = nlohmann::json;

std::string without_numbers(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit)
      plain += c;
    else if (plain.empty() || plain.back() != '#')
      plain += '#';
  }
  return plain;
}

/// Of `value` in `whole`: none, some or all.
int share(std::uint64_t value, std::uint64_t whole) {
  if (value == 0 || whole == 0) return value == 0 ? 0 : 1;
  return value >= whole ? 2 : 1;
}

class Walk {
 public:
  explicit Walk(double path_ns) : path_ns_(path_ns) {}
  void object(const std::string& path, const Json& a, const Json& b) {
    for (const auto& [key, value] : a.items()) {
      const std::string here = path + "." + key;
      if (!b.contains(key))
        add(here, value, "nothing");
      else if (key == "took_ms")
        continue;
      else if (key.ends_with("_ns"))
        time(here, key, a, b);
      else if (value.is_number())
        count(here, key, a, b);
      else
        any(here, value, b.at(key));
    }
  }
  std::vector<std::string> found;

 private:
  void any(const std::string& path, const Json& a, const Json& b) {
    if (a.is_object()) return object(path, a, b);
    if (a.is_array()) return array(path, a, b);
    if (a.is_string() && without_numbers(a) == without_numbers(b)) return;
    if (a != b) add(path, a, b);
  }
  /// Items that have names belong together by them; the first member of each is one.
  void array(const std::string& path, const Json& a, const Json& b) {
    if (a.size() != b.size()) add(path, names(a), names(b));
    for (const Json& one : a)
      for (const Json& other : b)
        if (name(one) == name(other)) any(path + "[" + name(one) + "]", one, other);
  }
  static std::string name(const Json& item) {
    for (const char* const key : {"name", "command", "shape", "probe", "plan", "way"})
      if (item.contains(key)) return item.at(key);
    return item.dump();
  }
  static Json names(const Json& items) {
    Json all = Json::array();
    for (const Json& item : items) all.push_back(name(item));
    return all;
  }
  void count(const std::string& path, const std::string& key, const Json& a, const Json& b) {
    std::uint64_t a_whole = 0, b_whole = 0;
    // Of an audit it is chance how many, so none or some.
    for (const char* const of : {"revokes"}) {
      if (key == of || !a.contains(of)) continue;
      a_whole = a.at(of);
      b_whole = b.at(of);
    }
    if (key == "version" || key == "status" || key == "fits" || key == "frame_bytes") {
      if (a.at(key) != b.at(key)) add(path, a.at(key), b.at(key));
    } else if (share(a.at(key), a_whole) != share(b.at(key), b_whole)) {
      add(path, a.at(key), b.at(key));
    }
  }
  /// A command's within its first one's, as bins allow (0.8 %) and a packet on its way; what is
  /// made of several about where it was.
  void time(const std::string& path, const std::string& key, const Json& a, const Json& b) {
    const auto of = [](const Json& from, const char* name) {
      return from.contains(name) ? from.at(name).get<double>() : 0.0;
    };
    const double one = a.at(key), other = b.at(key);
    if (a.contains("least_ns")) {
      constexpr double kBins = 1.01;
      const bool is_told = key != "p99_ns" || (one != 0 && other != 0);
      if (is_told &&
          (other * kBins < of(a, "least_ns") || other > kBins * of(a, "most_ns") + path_ns_))
        add(path, a, b);
      return;
    }
    if (std::max(one, other) > 2 * std::min(one, other) + 20'000) add(path, a.at(key), b.at(key));
  }
  double path_ns_;
  void add(const std::string& path, const Json& a, const Json& b) {
    found.push_back(path + ": " + a.dump() + " -> " + b.dump());
  }
};

}  // namespace

std::vector<std::string> disagreements(const Facts& a, const Facts& b) {
  Walk walk(static_cast<double>(a.loopback.median_ns));
  walk.object("facts", Json::parse(to_json(a)), Json::parse(to_json(b)));
  return std::move(walk.found);
}

}  // namespace portcullis::light::testing
