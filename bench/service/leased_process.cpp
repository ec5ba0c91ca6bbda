// SPDX-License-Identifier: BSD-3-Clause
#include "bench/service/leased_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "quic/pki.hpp"

namespace portcullis::bench {
namespace {

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

tl::unexpected<Error> system_failure(const std::string& what, int error) {
  return fail(Errc::System, fmt::format("{}: {}", what, std::strerror(error)));
}

constexpr std::uint64_t kStartNs = 60 * kNsPerSecond;
/// A slot rests for GRACE after its lease, and then waits for its sweep.
constexpr std::uint32_t kRestSeconds = 8;
constexpr std::uint32_t kSpare = 256;
constexpr std::uint32_t kMostSlots = 65'000;

/// What LEASED_ARGUMENTS has, as in the tests of leased: a sanitizer makes system calls of its own,
/// and wants --no-seccomp --debuggable.
void add_asked_for(std::vector<std::string>& arguments) {
  const char* const asked = std::getenv("LEASED_ARGUMENTS");
  std::istringstream words(asked == nullptr ? "" : asked);
  for (std::string word; words >> word;) arguments.push_back(word);
}

}  // namespace

// ---- Another program ---------------------------------------------------------------------------

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         const std::filesystem::path& log) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_failure("pipe2", errno);
  ChildProcess child;
  child.output_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!log.empty())
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::vector<std::string> own = arguments;
  std::vector<char*> pointers;
  for (std::string& each : own) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  const int error =
      ::posix_spawn(&child.id_, own.front().c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  child.id_ = -1;
  return system_failure(own.front(), error);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      output_(std::move(other.output_)),
      read_(std::move(other.read_)) {}

ChildProcess::~ChildProcess() {
  if (id_ < 0) return;
  signal(SIGKILL);
  (void)::waitpid(id_, nullptr, 0);
}

void ChildProcess::signal(int which) const noexcept {
  if (id_ > 0) (void)::kill(id_, which);
}

Result<std::string> ChildProcess::read_line(std::uint64_t until_ns) {
  for (;;) {
    if (const std::size_t end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    const std::uint64_t now = now_ns();
    if (now >= until_ns) return fail(Errc::Timeout, "it says nothing");
    pollfd waited{.fd = output_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&waited, 1, static_cast<int>((until_ns - now) / kNsPerMs + 1));
    if (waited.revents == 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
    if (got <= 0) return fail(Errc::DeviceGone, "it has ended");
    read_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Result<int> ChildProcess::wait(std::uint64_t until_ns) {
  int status = 0;
  while (::waitpid(id_, &status, WNOHANG) == 0) {
    if (now_ns() >= until_ns) return fail(Errc::Timeout, "it does not end");
    (void)::poll(nullptr, 0, 5);
  }
  id_ = -1;
  constexpr int kBySignal = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kBySignal + WTERMSIG(status);
}

// ---- leased ------------------------------------------------------------------------------------

LeasedProcess::Folder::~Folder() {
  std::error_code nobody_asks;
  if (!path.empty()) std::filesystem::remove_all(path, nobody_asks);
}

LeasedProcess::~LeasedProcess() {
  process_.reset();  // before what it works on, and its folder
  hardware_.reset();
}

Result<LeasedProcess> LeasedProcess::start(const Options& options) {
  if (!std::filesystem::exists(options.program))
    return fail(Errc::NotFound,
                fmt::format("--leased {}: no such program", options.program.string()));
  std::string name = (std::filesystem::temp_directory_path() / "service-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return system_failure(name, errno);
  LeasedProcess leased;
  leased.folder_ = leased.owned_.path = name;
  if (options.has_quic) PORTCULLIS_TRY(leased.make_certificates());
  PORTCULLIS_TRY(leased.write_config(options));
  std::string device = options.device;
  if (!options.hca_server.empty()) {
    PORTCULLIS_TRY(leased.start_hardware(options.hca_server));
    device = "shm:" + leased.hardware_socket().string();
  }
  std::vector<std::string> arguments{options.program.string(), "--config",
                                     (leased.folder_ / "toml").string(), "--device", device};
  add_asked_for(arguments);
  PORTCULLIS_TRY_ASSIGN(auto process, ChildProcess::start(arguments, leased.folder_ / "log"));
  leased.process_.emplace(std::move(process));
  const auto line = leased.process_->read_line(now_ns() + kStartNs);
  if (!line) return fail(line.error().code, "leased: " + leased.last_words());
  leased.greeting_ = *line;
  constexpr std::string_view kQuic = " and QUIC ";
  if (const std::size_t at = line->find(kQuic); at != std::string::npos) {
    leased.quic_address_ = line->substr(at + kQuic.size());
    leased.quic_address_.resize(std::min(leased.quic_address_.find(';'),  //
                                         leased.quic_address_.size()));
  }
  return leased;
}

Result<void> LeasedProcess::start_hardware(const std::filesystem::path& program) {
  if (!std::filesystem::exists(program))
    return fail(Errc::NotFound, fmt::format("--hca-server {}: no such program", program.string()));
  PORTCULLIS_TRY_ASSIGN(auto process,
                        ChildProcess::start({program.string(), "--shm", hardware_socket().string()},
                                            folder_ / "log"));
  hardware_.emplace(std::move(process));
  for (const std::uint64_t until_ns = now_ns() + kStartNs; !exists(hardware_socket());) {
    if (hardware_->wait(now_ns()) || now_ns() >= until_ns)
      return fail(Errc::DeviceGone, "hca-server: " + last_words());
    (void)::poll(nullptr, 0, 5);
  }
  return {};
}

Result<void> LeasedProcess::make_certificates() const {
  const auto pki = folder_ / "pki";
  PORTCULLIS_TRY(quic::create_authority(pki, "service_bench", 2));
  PORTCULLIS_TRY(quic::issue(pki,
                             {.purpose = quic::Purpose::Server,
                              .common_name = "leased",
                              .names = {"IP:127.0.0.1", "DNS:localhost"},
                              .days = 2},
                             pki / "server"));
  for (std::uint64_t tenant = 1; tenant <= kTenants; ++tenant)
    PORTCULLIS_TRY(quic::issue(pki,
                               {.common_name = fmt::format("tenant {}", tenant),
                                .names = {fmt::format("URI:portcullis:{}:operator", tenant)},
                                .days = 2},
                               pki / std::to_string(tenant)));
  return {};
}

quic::CredentialFiles LeasedProcess::files(const std::string& stem) const {
  const auto pki = folder_ / "pki";
  return {.authority = pki / "ca.pem",
          .certificate = pki / (stem + ".pem"),
          .key = pki / (stem + ".key"),
          .revoked = {}};
}

Result<std::uint32_t> LeasedProcess::slots_for(const Scale& scale) {
  const std::uint32_t slots = scale.leases + kRestSeconds * scale.rate + kSpare;
  if (slots <= kMostSlots) return slots;
  return fail(Errc::InvalidArgument,
              fmt::format("--leases {} at --rate {} take {} slots; {} are accepted", scale.leases,
                          scale.rate, slots, kMostSlots));
}

Result<void> LeasedProcess::write_config(const Options& options) const {
  const Scale& scale = options.scale;
  PORTCULLIS_TRY_ASSIGN(const std::uint32_t slots, slots_for(scale));
  const std::uint32_t connections = scale.connections + kSpare;
  std::string text = fmt::format(
      "[device]\nslots = {}\npolls = {}\n[socket]\npath = \"{}\"\n[journal]\npath = \"{}\"\n"
      "[limits]\ntenant_leases = {}\nconnections = {}\nuid_connections = {}\n"
      "tenant_connections = {}\nhost_connections = {}\n",
      slots, options.polls, socket().string(), journal().string(), slots, connections, connections,
      connections, connections);
  if (options.has_quic) {
    const auto pki = (folder_ / "pki").string();
    text += fmt::format(
        "[quic]\nlisten = \"127.0.0.1:0\"\nauthority = \"{0}/ca.pem\"\n"
        "certificate = \"{0}/server.pem\"\nkey = \"{0}/server.key\"\nidle_ms = 60000\n",
        pki);
  }
  std::ofstream file(folder_ / "toml");
  if (!(file << text) || !file.flush())
    return fail(Errc::System, (folder_ / "toml").string() + ": it cannot be written");
  return {};
}

Result<std::uint64_t> LeasedProcess::resident_bytes() const {
  const std::string path = fmt::format("/proc/{}/smaps_rollup", process_->id());
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kRss = "Rss:";
    constexpr std::uint64_t kKiB = 1024;
    if (line.starts_with(kRss)) return std::stoull(line.substr(kRss.size())) * kKiB;
  }
  return fail(Errc::System, path + ": it says nothing of Rss");
}

void LeasedProcess::ask_to_end() const noexcept { process_->signal(SIGTERM); }

std::string LeasedProcess::last_words() const {
  std::ifstream file(folder_ / "log");
  std::string last = "it ended without a word";
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace portcullis::bench
