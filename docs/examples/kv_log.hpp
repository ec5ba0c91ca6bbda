// SPDX-License-Identifier: BSD-3-Clause
//
// Values as they stand in leased memory and in a log: key, version, bytes and a sum over them, so
// that whoever reads one that was torn by a crash or a revoke sees it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <portcullis/result.hpp>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace kv {

struct Header {
  std::uint64_t key = 0;
  std::uint64_t version = 0;  // 0: nothing was ever put here
  std::uint64_t sum = 0;
};

/// FNV-1a over key, version and the bytes of the value.
inline std::uint64_t sum_of(std::span<const std::byte> record) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < record.size(); ++i) {
    if (i >= offsetof(Header, sum) && i < sizeof(Header)) continue;
    sum = (sum ^ std::to_integer<std::uint64_t>(record[i])) * 0x100000001b3;
  }
  return sum;
}

inline Header header_of(std::span<const std::byte> record) {
  Header header;
  std::memcpy(&header, record.data(), sizeof header);
  return header;
}

/// What a GET, or who reads the log, has to find; none where the record is not whole.
inline std::optional<Header> whole(std::span<const std::byte> record) {
  const Header header = header_of(record);
  if (header.version == 0 || header.sum != sum_of(record)) return std::nullopt;
  return header;
}

/// `record` becomes a version of a key, whose value follows from both: so it can be checked.
inline void write_record(std::span<std::byte> record, std::uint64_t key, std::uint64_t version) {
  std::uint64_t state = key * 0x9e3779b97f4a7c15 + version;
  for (std::byte& byte : record.subspan(sizeof(Header))) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<std::byte>(state >> 56U);
  }
  Header header{.key = key, .version = version};
  std::memcpy(record.data(), &header, sizeof header);
  header.sum = sum_of(record);
  std::memcpy(record.data(), &header, sizeof header);
}

/// The other copy of every value: a PUT is here before it is in leased memory. It outlives this
/// process, and the machine's end only as far as the file system does: there is no fdatasync().
class Log {
 public:
  static portcullis::Result<Log> open(const std::string& path, std::size_t record_bytes) {
    Log log(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600), path,
            record_bytes);
    if (log.file_ < 0) return log.failed(errno);
    return log;
  }
  Log(Log&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        path_(std::move(other.path_)),
        record_bytes_(other.record_bytes_) {}
  Log& operator=(Log&&) = delete;
  ~Log() {
    if (file_ >= 0) ::close(file_);
  }

  portcullis::Result<void> append(std::span<const std::byte> record) {
    while (!record.empty()) {
      const ssize_t written = ::write(file_, record.data(), record.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return failed(errno);
      record = record.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  /// The newest record of each key, read from the file. A last one that is not whole was never
  /// acknowledged, and is cut off; another one is an error.
  portcullis::Result<std::map<std::uint64_t, std::vector<std::byte>>> replay() {
    std::map<std::uint64_t, std::vector<std::byte>> newest;
    struct stat about {};
    if (::fstat(file_, &about) != 0) return failed(errno);
    const auto bytes = static_cast<std::size_t>(about.st_size);
    std::vector<std::byte> record(record_bytes_);
    for (std::size_t at = 0; at < bytes; at += record_bytes_) {
      const bool is_last = bytes - at <= record_bytes_;
      const ssize_t read = ::pread(file_, record.data(), record.size(), static_cast<off_t>(at));
      const auto header =
          read == static_cast<ssize_t>(record_bytes_) ? whole(record) : std::nullopt;
      if (header) {
        newest[header->key] = record;
        continue;
      }
      if (!is_last)
        return portcullis::fail(portcullis::Errc::Malformed,
                                path_ + ": the record at byte " + std::to_string(at) +
                                    " is not whole; a log of the same --value-bytes is accepted");
      if (::ftruncate(file_, static_cast<off_t>(at)) != 0) return failed(errno);
    }
    return newest;
  }

 private:
  Log(int file, std::string path, std::size_t record_bytes)
      : file_(file), path_(std::move(path)), record_bytes_(record_bytes) {}
  [[nodiscard]] tl::unexpected<portcullis::Error> failed(int error) const {
    return portcullis::fail(portcullis::Errc::System,
                            path_ + ": " + std::generic_category().message(error));
  }

  int file_;
  std::string path_;
  std::size_t record_bytes_;
};

}  // namespace kv
