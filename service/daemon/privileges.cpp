// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/privileges.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

namespace portcullis::service::daemon {
namespace {

tl::unexpected<Error> system_failure(const std::string& call) {
  return fail(Errc::System, fmt::format("{}: {}", call, std::strerror(errno)));
}

/// -1 is nobody's: to setresuid(2) it means "as it is".
std::optional<unsigned> number_of(const std::string& text) {
  std::uint32_t id = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, id);
  if (text.empty() || rest != end || error != std::errc()) return std::nullopt;
  if (id == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return id;
}

/// A thread's own lines of /proc: "Uid" and what is behind the colon, blanks as one space each.
using Status = std::map<std::string, std::string>;

Result<Status> status_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream.is_open()) return system_failure(file.string());
  Status status;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 1));
    std::string& value = status[line.substr(0, colon)];
    for (std::string word; words >> word;) value += (value.empty() ? "" : " ") + word;
  }
  return status;
}

Result<void> check_thread(const std::filesystem::path& file, const Status& wanted) {
  const auto found = status_of(file);
  // A thread that has ended has nothing.
  if (!found) return {};
  for (const auto& [key, value] : wanted) {
    const auto at = found->find(key);
    const std::string is = at == found->end() ? "not there" : at->second;
    if (is != value)
      return fail(Errc::System,
                  fmt::format("privileges are not dropped: {} has {} {}, not {}", file.string(),
                              key, is, value.empty() ? "none" : value));
  }
  return {};
}

Result<void> check_every_thread(const Status& wanted) {
  std::error_code error;
  std::filesystem::directory_iterator tasks("/proc/self/task", error);
  if (error) return fail(Errc::System, "/proc/self/task: " + error.message());
  for (const auto& each : tasks) PORTCULLIS_TRY(check_thread(each.path() / "status", wanted));
  return {};
}

std::string four_times(unsigned id) { return fmt::format("{0} {0} {0} {0}", id); }

/// What a region pins counts against this limit from now on: the kernel asks whoever maps it for
/// CAP_IPC_LOCK (vfio_iommu_type1.c, vfio_lock_acct; umem.c, ib_umem_get).
void lift_limit_of_pinned_memory() {
  const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  (void)::setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

/// glibc does each of these in every thread (nptl(7)). When no user id is root's any more, the
/// kernel takes the capabilities, too (capabilities(7)); the bounding set counts at execve(2)
/// alone, which gives nothing under no_new_privs.
Result<void> become(uid_t user, gid_t group) {
  if (::setgroups(0, nullptr) != 0) return system_failure("setgroups");
  if (::setresgid(group, group, group) != 0) return system_failure(fmt::format("gid {}", group));
  if (::setresuid(user, user, user) != 0) return system_failure(fmt::format("uid {}", user));
  return {};
}

/// The kernel makes who changes its user traceable again, or as fs.suid_dumpable says.
Result<void> set_traceable(bool is_traceable) {
  if (::prctl(PR_SET_DUMPABLE, is_traceable ? 1UL : 0UL, 0UL, 0UL, 0UL) == 0) return {};
  return system_failure("PR_SET_DUMPABLE");
}

std::string as_it_was() {
  const uid_t own = ::geteuid();
  if (own == 0) return "goes on as root: nobody else is named by user of [process]";
  const auto status = status_of("/proc/self/status");
  const bool has_none = status && status->contains("CapEff") &&
                        status->at("CapEff").find_first_not_of('0') == std::string::npos;
  return fmt::format("goes on as user {}, who started it{}", own,
                     has_none ? ", without capabilities: there is nothing to drop"
                              : ", with the capabilities that it was given");
}

}  // namespace

Result<Owner> find_user(const std::string& text) {
  const passwd* found = ::getpwnam(text.c_str());
  const auto number = number_of(text);
  if (found == nullptr && number) found = ::getpwuid(*number);
  if (found == nullptr && !number)
    return fail(Errc::InvalidArgument, "there is no user of that name");
  Owner user{.text = text, .id = found != nullptr ? found->pw_uid : *number};
  if (found != nullptr) user.group = found->pw_gid;
  if (user.id != 0) return user;
  return fail(Errc::InvalidArgument,
              "another user than root is accepted; without one leased goes on as who started it");
}

Result<Owner> find_group(const std::string& text) {
  if (const group* found = ::getgrnam(text.c_str()); found != nullptr)
    return Owner{.text = text, .id = found->gr_gid};
  const auto number = number_of(text);
  if (!number) return fail(Errc::InvalidArgument, "there is no group of that name");
  return Owner{.text = text, .id = *number};
}

Result<void> check_process(const ProcessConfig& config) {
  if (config.group && !config.user)
    return fail(Errc::InvalidArgument,
                "a group is there without a user; user and group, user "
                "alone or neither is accepted");
  if (config.user && !config.group && !config.user->group)
    return fail(Errc::InvalidArgument,
                fmt::format("the system knows no group of user {}; one is to be given with it",
                            config.user->text));
  return {};
}

Result<void> hide_memory(const ProcessConfig& config) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
    return system_failure("PR_SET_NO_NEW_PRIVS");
  if (config.is_debuggable) return {};
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return system_failure("RLIMIT_CORE");
  return set_traceable(false);
}

Result<std::string> drop_privileges(const ProcessConfig& config) {
  PORTCULLIS_TRY(check_process(config));
  if (!config.user) return as_it_was();
  const uid_t user = config.user->id;
  const gid_t group = config.group ? config.group->id : *config.user->group;
  if (::geteuid() == user && ::getegid() == group) return as_it_was();
  if (::geteuid() != 0)
    return fail(Errc::System,
                fmt::format("user {} (uid {}, gid {}): leased was started as uid {}, gid {}, and "
                            "root alone may become another",
                            config.user->text, user, group, ::geteuid(), ::getegid()));
  lift_limit_of_pinned_memory();
  PORTCULLIS_TRY(become(user, group));
  PORTCULLIS_TRY(set_traceable(config.is_debuggable));
  constexpr const char* kNoCapabilities = "0000000000000000";
  PORTCULLIS_TRY(check_every_thread({{"Uid", four_times(user)},
                                     {"Gid", four_times(group)},
                                     {"Groups", ""},
                                     {"CapPrm", kNoCapabilities},
                                     {"CapEff", kNoCapabilities},
                                     {"CapAmb", kNoCapabilities},
                                     {"NoNewPrivs", "1"}}));
  return fmt::format("goes on as user {} (uid {}, gid {}), without capabilities or other groups",
                     config.user->text, user, group);
}

}  // namespace portcullis::service::daemon
