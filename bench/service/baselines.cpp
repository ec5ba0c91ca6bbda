// SPDX-License-Identifier: BSD-3-Clause
#include "bench/service/baselines.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "attach/port.hpp"
#include "base/clock.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/service/lease_load.hpp"
#include "bench/service/leased_process.hpp"
#include "lease/lease_manager.hpp"
#include "wire/messages.hpp"

namespace portcullis::bench {
namespace {

using Message = std::array<std::byte, wire::kBytes<wire::Header>>;

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

[[noreturn]] void echo_until_end(int socket) noexcept {
  Message message{};
  while (::recv(socket, message.data(), message.size(), 0) > 0)
    if (::send(socket, message.data(), message.size(), MSG_NOSIGNAL) <= 0) break;
  ::_exit(0);
}

constexpr std::chrono::milliseconds kRest{3};

Result<cpu_set_t> cores_of_this_thread() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return cores;
  return fail(Errc::Unsupported, fmt::format("sched_getaffinity: {}", std::strerror(errno)));
}

/// The first of them, or the one behind it.
Result<cpu_set_t> core_of(const cpu_set_t& cores, int nth) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores) && seen++ == nth) CPU_SET(core, &one);
  if (CPU_COUNT(&one) == 1) return one;
  return fail(Errc::Unsupported, fmt::format("this process may use {} core", CPU_COUNT(&cores)));
}

/// A thread, or the only thread of a process; 0: this one.
Result<void> keep(pid_t thread, const cpu_set_t& to) {
  if (::sched_setaffinity(thread, sizeof to, &to) == 0) return {};
  return fail(Errc::System, fmt::format("sched_setaffinity: {}", std::strerror(errno)));
}

/// This thread may use the cores again that it could use before.
class Cores {
 public:
  explicit Cores(const cpu_set_t& before) : before_(before) {}
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;
  ~Cores() { (void)keep(0, before_); }

 private:
  cpu_set_t before_;
};

}  // namespace

const char* name(Place place) noexcept {
  return place == Place::OneCore ? "one core" : "two cores";
}

const char* name(Pace pace) noexcept { return pace == Pace::Rested ? "rested" : "back to back"; }

void wait_for_turn(Pace pace) {
  if (pace == Pace::Rested) std::this_thread::sleep_for(kRest);
}

// ---- An empty message --------------------------------------------------------------------------

Result<EchoProcess> EchoProcess::start() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Errc::System, fmt::format("socketpair: {}", std::strerror(errno)));
  EchoProcess echo;
  echo.socket_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  echo.id_ = ::fork();
  if (echo.id_ == 0) {
    echo.socket_.reset();
    echo_until_end(theirs.get());
  }
  if (echo.id_ < 0) return fail(Errc::System, fmt::format("fork: {}", std::strerror(errno)));
  return echo;
}

EchoProcess::EchoProcess(EchoProcess&& other) noexcept
    : socket_(std::move(other.socket_)), id_(std::exchange(other.id_, -1)) {}

EchoProcess::~EchoProcess() {
  if (id_ < 0) return;
  socket_.reset();
  (void)::waitpid(id_, nullptr, 0);
}

Result<void> EchoProcess::measure(std::uint64_t samples, Pace pace, Place place,
                                  Histogram& round_trip) const {
  PORTCULLIS_TRY_ASSIGN(const cpu_set_t cores, cores_of_this_thread());
  PORTCULLIS_TRY_ASSIGN(const cpu_set_t near, core_of(cores, 0));
  PORTCULLIS_TRY_ASSIGN(const cpu_set_t far, core_of(cores, place == Place::OneCore ? 0 : 1));
  const Cores before(cores);
  PORTCULLIS_TRY(keep(0, near));
  PORTCULLIS_TRY(keep(id_, far));
  Message message{};
  for (std::uint64_t i = 0; i < samples; ++i) {
    wait_for_turn(pace);
    const std::uint64_t since_ns = now_ns();
    if (::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) <= 0 ||
        ::recv(socket_.get(), message.data(), message.size(), 0) <= 0)
      return fail(Errc::System, fmt::format("echo: {}", std::strerror(errno)));
    round_trip.record(now_ns() - since_ns);
  }
  return {};
}

// ---- The fence alone ---------------------------------------------------------------------------

namespace {

/// As a server's clients ask: a device that others keep busy is asked again, for ten seconds.
Result<lease::Grant> grant_of_busy(lease::LeaseManager& manager,
                                   const lease::GrantRequest& request) {
  constexpr std::uint64_t kMostNs = 10 * kNsPerSecond;
  for (const std::uint64_t until_ns = now_ns() + kMostNs;;) {
    auto grant = manager.grant(request);
    if (grant || grant.error().code != Errc::Busy || now_ns() >= until_ns) return grant;
    PORTCULLIS_TRY(check_not_interrupted());
    manager.poll();
  }
}

}  // namespace

Result<void> measure_fence(const std::string& device, bool polls, std::uint64_t samples, Pace pace,
                           Histogram& fence) {
  PORTCULLIS_TRY_ASSIGN(auto spec, attach::parse_device(device));
  if (auto* model = std::get_if<model::Options>(&spec.kind))
    model->execution = model::Execution::Polled;
  PORTCULLIS_TRY_ASSIGN(auto open, attach::OpenDevice::open(spec));
  PORTCULLIS_TRY_ASSIGN(const auto function,
                        attach::Function::bring_up(std::move(open), {.model_naps = !polls}));
  PORTCULLIS_TRY_ASSIGN(const auto port, attach::Port::create(function->context(), {}));
  lease::LeaseManager::Options options;
  options.grant.source_address_index = port.address_index();
  PORTCULLIS_TRY_ASSIGN(const auto manager,
                        lease::LeaseManager::create(lease::Host::of(function->driver()), options));
  const wire::AllocRequest nowhere = nowhere_request();
  lease::GrantRequest request{.bytes = nowhere.bytes, .peer = {.qpn = prm::QpNumber{nowhere.qpn}}};
  for (std::size_t i = 0; i < nowhere.gid.size(); ++i)
    request.peer.gid.bytes[i] = std::byte{nowhere.gid[i]};
  request.peer.mac = {.octets = nowhere.mac};
  for (std::uint64_t i = 0; i < samples; ++i) {
    PORTCULLIS_TRY(check_not_interrupted());
    PORTCULLIS_TRY_ASSIGN(const lease::Grant grant, grant_of_busy(*manager, request));
    manager->poll();
    wait_for_turn(pace);
    const std::uint64_t since_ns = now_ns();
    const auto answer =
        manager->start_revoke(grant.lease.id, grant.lease.epoch, lease::seed_plan());
    fence.record(now_ns() - since_ns);
    if (!answer || answer->outcome != lease::Outcome::TornDown)
      return fail(Errc::DeviceFailed, "the fence without a service has no outcome");
    manager->poll();
  }
  return manager->tear_down();
}

// ---- gRPC --------------------------------------------------------------------------------------

Result<void> measure_grpc(const std::filesystem::path& program, const quic::CredentialFiles& server,
                          const quic::CredentialFiles& client, std::uint64_t samples, Pace pace,
                          Histogram& echo) {
  if (!std::filesystem::exists(program))
    return fail(Errc::NotFound, "grpc_echo was not built: libgrpc++-dev is not installed");
  constexpr std::uint64_t kMostNs = 120 * kNsPerSecond;
  const std::uint64_t until_ns = now_ns() + kMostNs;
  PORTCULLIS_TRY_ASSIGN(
      auto process,
      ChildProcess::start({program.string(), server.authority.string(), server.certificate.string(),
                           server.key.string(), client.certificate.string(), client.key.string(),
                           std::to_string(samples),
                           std::to_string(pace == Pace::Rested ? kRest.count() : 0)}));
  for (std::uint64_t i = 0; i < samples; ++i) {
    PORTCULLIS_TRY(check_not_interrupted());
    const auto line = process.read_line(until_ns);
    if (!line) return fail(line.error().code, "grpc_echo: " + line.error().text);
    std::uint64_t took_ns = 0;
    const auto parsed = std::from_chars(line->data(), line->data() + line->size(), took_ns);
    if (parsed.ec != std::errc{})
      return fail(Errc::Malformed, fmt::format("grpc_echo: '{}' is no time", *line));
    echo.record(took_ns);
  }
  return {};
}

}  // namespace portcullis::bench
