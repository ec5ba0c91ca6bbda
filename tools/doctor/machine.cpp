// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/machine.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

namespace portcullis::tools::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlanks = " \t\r\n";

int open_and_close(const fs::path& at) {
  const int fd = open(at.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

}  // namespace

Machine::Machine(fs::path root) : Machine(std::move(root), &open_and_close) {}

Machine::Machine(fs::path root, TryOpen try_open)
    : root_(std::move(root)), try_open_(std::move(try_open)) {}

bool Machine::exists(std::string_view at) const {
  std::error_code error;
  return fs::exists(path(at), error);
}

std::string Machine::text(std::string_view at) const {
  std::ifstream file(path(at), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Machine::line(std::string_view at) const {
  std::ifstream file(path(at));
  std::string line;
  std::getline(file, line);
  const std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::uint64_t> Machine::number(std::string_view at) const {
  const std::string digits = line(at);
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) return {};
  return value;
}

pmd::CpuSet Machine::cpus(std::string_view at) const {
  auto list = pmd::parse_cpu_list(line(at));
  return list ? *std::move(list) : pmd::CpuSet{};
}

std::vector<std::string> Machine::names(std::string_view folder) const {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(path(folder), error), end; !error && entry != end;
       entry.increment(error))
    found.push_back(entry->path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string Machine::target(std::string_view link) const {
  std::error_code error;
  return fs::read_symlink(path(link), error).string();
}

std::vector<std::string> Machine::boot_words() const {
  std::istringstream words(line("proc/cmdline"));
  return {std::istream_iterator<std::string>(words), {}};
}

bool Machine::booted_with(std::string_view parameter) const {
  const std::vector<std::string> words = boot_words();
  return std::find(words.begin(), words.end(), parameter) != words.end();
}

std::string Machine::without_modules() const {
  if (booted_with("nomodule")) return "booted with nomodule";
  if (!exists("proc/modules")) return "built without loadable modules";
  // A copy of another machine has no more than /sys, /proc and /dev.
  if (!exists("lib") && !exists("usr")) return {};
  const std::string release = line("proc/sys/kernel/osrelease");
  const std::string folder = "lib/modules/" + release;
  if (!release.empty() && !exists(folder) && !exists("usr/" + folder))
    return "/" + folder + " is not there";
  return {};
}

std::string Machine::boot_value(std::string_view name) const {
  std::string value;
  for (const std::string& word : boot_words())
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      value = word.substr(name.size() + 1);
  return value;
}

}  // namespace portcullis::tools::doctor
