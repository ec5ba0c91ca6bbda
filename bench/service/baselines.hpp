// SPDX-License-Identifier: BSD-3-Clause
//
// What the service is held against, on the same machine: an empty message to another process and
// back, the fence without a service, and a unary call of gRPC with certificates of both sides.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/histogram.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "quic/credentials.hpp"

namespace portcullis::bench {

/// What goes before each of what is timed, alike for a revoke and for all it is held against.
enum class Pace : std::uint8_t {
  Rested,     // 3 ms of nothing: processors, threads and the model's firmware have to be woken
  BackToBack  // one follows the other at once
};
inline constexpr Pace kPaces[] = {Pace::Rested, Pace::BackToBack};
[[nodiscard]] const char* name(Pace pace) noexcept;
void wait_for_turn(Pace pace);

/// Where the two ends of an empty message are. Left to itself the scheduler chooses one or the
/// other for a whole run, and the time is ten times as long where two processors have to wake each
/// other.
enum class Place : std::uint8_t { OneCore, TwoCores };
inline constexpr Place kPlaces[] = {Place::OneCore, Place::TwoCores};
[[nodiscard]] const char* name(Place place) noexcept;

/// Another process that sends back what it gets, over SOCK_SEQPACKET: a header, no body.
class EchoProcess {
 public:
  /// Forks: before this process has another thread.
  [[nodiscard]] static Result<EchoProcess> start();
  EchoProcess(EchoProcess&& other) noexcept;
  EchoProcess& operator=(EchoProcess&&) = delete;
  ~EchoProcess();
  /// This thread and that process keep to their cores meanwhile, the first ones of those that this
  /// process may use. Unsupported where two are wanted and it may use one,
  /// or where it may not be asked: of more cores than cpu_set_t has.
  [[nodiscard]] Result<void> measure(std::uint64_t samples, Pace pace, Place place,
                                     Histogram& round_trip) const;

 private:
  EchoProcess() = default;
  UniqueFd socket_;
  pid_t id_ = -1;
};

/// Revokes of one lease after the other by the lease manager itself, in this process, on a device
/// of its own as leased has it, which naps where nobody asks unless it `polls`: the fence's own
/// time.
[[nodiscard]] Result<void> measure_fence(const std::string& device, bool polls,
                                         std::uint64_t samples, Pace pace, Histogram& fence);

/// Unary echoes, by the program `grpc_echo`. NotFound where it was not built.
[[nodiscard]] Result<void> measure_grpc(const std::filesystem::path& program,
                                        const quic::CredentialFiles& server,
                                        const quic::CredentialFiles& client, std::uint64_t samples,
                                        Pace pace, Histogram& echo);

}  // namespace portcullis::bench
