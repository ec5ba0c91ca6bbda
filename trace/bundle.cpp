// SPDX-License-Identifier: BSD-3-Clause
#include "trace/bundle.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/unique_fd.hpp"

namespace portcullis::trace {
namespace {

constexpr mode_t kReadable = 0644;

using Writer = std::unique_ptr<archive, decltype(&archive_write_free)>;
using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;
using Entry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

std::string why(archive* from) {
  const char* const text = from == nullptr ? nullptr : archive_error_string(from);
  return text == nullptr ? "unknown error of libarchive" : text;
}

tl::unexpected<Error> malformed(std::string_view file, std::string_view what) {
  return fail(Errc::Malformed, fmt::format("{}: {}", file, what));
}

la_ssize_t append(archive* /*to*/, void* bytes, const void* data, std::size_t length) {
  static_cast<std::string*>(bytes)->append(static_cast<const char*>(data), length);
  return static_cast<la_ssize_t>(length);
}

bool write_one(archive* to, const BundleFile& file) {
  const Entry entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), file.name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.text.size()));
  archive_entry_set_filetype(entry.get(), S_IFREG);
  archive_entry_set_perm(entry.get(), kReadable);
  return archive_write_header(to, entry.get()) == ARCHIVE_OK &&
         archive_write_data(to, file.text.data(), file.text.size()) ==
             static_cast<la_ssize_t>(file.text.size());
}

/// What is wrong with an entry of somebody else's archive; empty: nothing.
std::string complaint(archive_entry* entry, const Bundle& so_far) {
  const char* const name = archive_entry_pathname(entry);
  if (name == nullptr || std::string_view(name).empty() ||
      std::string_view(name).find_first_of("/\n") != std::string_view::npos)
    return "a file whose name is none, or has a folder in it; plain names are accepted";
  if (archive_entry_filetype(entry) != S_IFREG) return fmt::format("{} is no plain file", name);
  if (so_far.find(name) != nullptr) return fmt::format("{} is there twice", name);
  if (so_far.files.size() >= kMostBundleFiles)
    return fmt::format("more than {} files", kMostBundleFiles);
  return {};
}

/// The text of the entry in hand. What it says of its own length is not asked.
Result<std::string> read_text(archive* from, std::size_t room, std::string_view file) {
  constexpr std::size_t kPiece = 1U << 16U;
  std::string text;
  for (;;) {
    const std::size_t had = text.size();
    text.resize(had + kPiece);
    const la_ssize_t got = archive_read_data(from, text.data() + had, kPiece);
    if (got < 0) return malformed(file, why(from));
    text.resize(had + static_cast<std::size_t>(got));
    if (got == 0) return text;
    if (text.size() > room)
      return malformed(file, fmt::format("more than {} bytes unpacked", kMostBundleBytes));
  }
}

[[nodiscard]] bool reads_bundles(archive* from) {
  return from != nullptr && archive_read_support_format_tar(from) == ARCHIVE_OK &&
         archive_read_support_filter_zstd(from) == ARCHIVE_OK;
}

/// Every file of an archive that is open; the text of those that `is_wanted`, the rest stays empty.
template <class Wanted>
Result<Bundle> read_files(archive* from, std::string_view file, Wanted&& is_wanted) {
  Bundle bundle;
  std::size_t room = kMostBundleBytes;
  for (;;) {
    archive_entry* entry = nullptr;
    const int next = archive_read_next_header(from, &entry);
    if (next == ARCHIVE_EOF) break;
    if (next != ARCHIVE_OK) return malformed(file, "no bundle: " + why(from));
    if (const std::string what = complaint(entry, bundle); !what.empty())
      return malformed(file, what);
    std::string name = archive_entry_pathname(entry);
    PORTCULLIS_TRY_ASSIGN(std::string text, read_text(from, room, file));
    room -= text.size();
    if (!is_wanted(name)) text.clear();
    bundle.files.push_back({std::move(name), std::move(text)});
  }
  if (bundle.files.empty()) return malformed(file, "no bundle: nothing is in it");
  return bundle;
}

}  // namespace

const BundleFile* Bundle::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(files, name, &BundleFile::name);
  return found == files.end() ? nullptr : &*found;
}

Result<std::string> pack(const Bundle& bundle) {
  std::string bytes;
  const Writer writer(archive_write_new(), &archive_write_free);
  archive* const to = writer.get();
  if (to == nullptr || archive_write_set_format_ustar(to) != ARCHIVE_OK ||
      archive_write_add_filter_zstd(to) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(to, 1) != ARCHIVE_OK ||
      archive_write_open(to, &bytes, nullptr, &append, nullptr) != ARCHIVE_OK)
    return fail(Errc::System, "the bundle cannot be packed: " + why(to));
  for (const BundleFile& file : bundle.files)
    if (!write_one(to, file))
      return fail(Errc::System, "the bundle cannot be packed: " + file.name + ": " + why(to));
  if (archive_write_close(to) != ARCHIVE_OK)
    return fail(Errc::System, "the bundle cannot be packed: " + why(to));
  return bytes;
}

Result<Bundle> unpack(std::string_view bytes, std::string_view file) {
  const Reader reader(archive_read_new(), &archive_read_free);
  archive* const from = reader.get();
  if (!reads_bundles(from) ||
      archive_read_open_memory(from, bytes.data(), bytes.size()) != ARCHIVE_OK)
    return malformed(file, "no bundle: " + why(from));
  return read_files(from, file, [](std::string_view) { return true; });
}

Result<std::string> read_from_bundle(const std::string& path, std::string_view name,
                                     std::size_t most_bytes) {
  constexpr std::size_t kPiece = 1U << 16U;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat opened {};
  if (!fd.is_open() || fstat(fd.get(), &opened) != 0)
    return fail(Errc::System, path + " cannot be read: " + std::generic_category().message(errno));
  if (S_ISDIR(opened.st_mode))
    return fail(Errc::System, path + " cannot be read: it is a folder; a bundle is accepted");
  const Reader reader(archive_read_new(), &archive_read_free);
  archive* const from = reader.get();
  if (!reads_bundles(from) || archive_read_open_fd(from, fd.get(), kPiece) != ARCHIVE_OK)
    return malformed(path, "no bundle: " + why(from));
  PORTCULLIS_TRY_ASSIGN(const Bundle bundle, read_files(from, path, [name](std::string_view each) {
                          return each == name;
                        }));
  const BundleFile* const found = bundle.find(name);
  if (found == nullptr)
    return malformed(path, fmt::format("{} is missing; a bundle of this first-light, or of a later "
                                       "one, is accepted",
                                       name));
  if (found->text.size() > most_bytes)
    return malformed(path, fmt::format("{} has {} bytes; at most {} are accepted", name,
                                       found->text.size(), most_bytes));
  return found->text;
}

}  // namespace portcullis::trace
