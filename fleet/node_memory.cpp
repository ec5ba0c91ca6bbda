// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/node_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/entropy.hpp"

namespace portcullis::fleet {
namespace {

std::string line_of(std::uint64_t node, std::uint64_t cluster, std::uint64_t revision) {
  return fmt::format("portcullis node {:016x} cluster {:016x} revision {:020}\n", node, cluster,
                     revision);
}

tl::unexpected<Error> failure(const std::filesystem::path& file, const char* doing) {
  return fail(Errc::System, fmt::format("{}: {}: {}", file.string(), doing, std::strerror(errno)));
}

}  // namespace

Result<NodeMemory> NodeMemory::open(const std::filesystem::path& file) {
  constexpr mode_t kMode = 0600;
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!fd.is_open()) return failure(file, "open");
  NodeMemory memory(file, std::move(fd));
  PORTCULLIS_TRY(memory.read());
  if (memory.node_ != 0) return memory;
  while (memory.node_ == 0) {
    PORTCULLIS_TRY_ASSIGN(memory.node_, random_number());
  }
  PORTCULLIS_TRY(memory.write());
  return memory;
}

Result<void> NodeMemory::read() {
  std::array<char, 256> bytes{};
  const ssize_t got = ::pread(fd_.get(), bytes.data(), bytes.size() - 1, 0);
  if (got < 0) return failure(file_, "read");
  if (got == 0) return {};  // new
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  std::sscanf(bytes.data(), "portcullis node %" SCNx64 " cluster %" SCNx64 " revision %" SCNu64,
              &node_, &cluster_, &revision_);
  if (node_ != 0 && text == line_of(node_, cluster_, revision_)) return {};
  return fail(Errc::Malformed,
              fmt::format("{}: it does not say which node of a fleet this is; the file that leased "
                          "made, or none, is accepted",
                          file_.string()));
}

Result<void> NodeMemory::remember(std::uint64_t cluster, std::uint64_t revision) {
  cluster_ = cluster;
  revision_ = revision;
  return write();
}

Result<void> NodeMemory::write() const {
  const std::string line = line_of(node_, cluster_, revision_);
  if (::pwrite(fd_.get(), line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()))
    return failure(file_, "write");
  if (::fdatasync(fd_.get()) != 0) return failure(file_, "fdatasync");
  return {};
}

}  // namespace portcullis::fleet
