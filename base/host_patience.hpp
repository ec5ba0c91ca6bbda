// SPDX-License-Identifier: BSD-3-Clause
//
// How long the calling thread may be kept by the host's own side of a device: by whoever has the
// function in another process, above all. A lease's fence has a second, and what the host is asked
// within it (an unmap, bus mastering) has no deadline of its own, for a kernel needs none. Who can
// be kept waiting looks here; everybody else never does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace portcullis {

class HostPatience {
 public:
  static constexpr std::uint64_t kUnbound = std::numeric_limits<std::uint64_t>::max();

  /// Until `until_ns` of Clock::wall(), in this thread, as long as this lives; an outer one that
  /// ends sooner counts on.
  explicit HostPatience(std::uint64_t until_ns) noexcept : before_ns_(of_thread()) {
    of_thread() = std::min(of_thread(), until_ns);
  }
  HostPatience(const HostPatience&) = delete;
  HostPatience& operator=(const HostPatience&) = delete;
  ~HostPatience() { of_thread() = before_ns_; }

  /// kUnbound: nobody waits for the caller.
  [[nodiscard]] static std::uint64_t until_ns() noexcept { return of_thread(); }

 private:
  static std::uint64_t& of_thread() noexcept {
    thread_local std::uint64_t until_ns = kUnbound;
    return until_ns;
  }

  std::uint64_t before_ns_;
};

}  // namespace portcullis
