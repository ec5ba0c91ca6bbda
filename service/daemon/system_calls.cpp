// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/system_calls.hpp"

#include <fcntl.h>
#include <linux/vfio.h>
#include <pwd.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>

namespace portcullis::service::daemon {
namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

/// Calls that belong together, by name.
struct Calls {
  const char* are_for;
  const char* names;
};

// What `strace -f` saw after the line "serves ..", in the tests of leased over the socket and QUIC,
// with a journal, metrics, SIGHUP, SIGTERM and a watchdog; and what the paths call that those tests
// do not go.
constexpr std::array<Calls, 8> kAllowed = {{
    {"time and waiting",
     "clock_nanosleep nanosleep poll ppoll epoll_wait epoll_pwait epoll_ctl timerfd_settime "
     "restart_syscall sched_yield clock_gettime clock_getres gettimeofday time"},
    {"threads that are there, and their end; the EAL says on which processors they run",
     "futex set_robust_list rseq exit exit_group gettid getcpu membarrier sched_getaffinity "
     "sched_setaffinity"},
    {"signals that come", "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack"},
    {"connections that come; and of whoever looks up a user's name (nss(5)), on this host",
     "accept accept4 recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg shutdown getsockopt "
     "setsockopt getsockname getpeername connect"},
    {"files; the EAL removes its folder at the end",
     "openat close read write readv writev pread64 pwrite64 lseek fsync fdatasync ftruncate fcntl "
     "flock newfstatat fstat stat lstat statx fstatfs access faccessat faccessat2 readlink getcwd "
     "getdents64 unlink unlinkat rmdir"},
    {"memory; mmap and mprotect have conditions", "brk munmap mremap madvise"},
    {"who it is", "getpid getuid geteuid getgid getegid"},
    {"what the machine has", "getrandom uname sysinfo getrusage"},
}};

// What libcurl calls beside them, and getaddrinfo(3) in a thread of libcurl's: it asks the kernel
// which addresses there are, and a name server over UDP.
constexpr Calls kConnecting = {"connections to etcd", "bind socketpair pipe pipe2 eventfd2"};

/// A call, and what of its argument `nth` has to be `value` under `mask`.
struct Condition {
  int call;
  unsigned nth;
  std::uint64_t mask;
  std::uint64_t value;
};

// The type of a request (asm-generic/ioctl.h, _IOC_TYPE), which all of VFIO's share, and all of
// verbs': regions are mapped by them.
constexpr std::uint64_t kRequestType = std::uint64_t{_IOC_TYPEMASK} << _IOC_TYPESHIFT;
constexpr std::uint64_t kVfio = std::uint64_t{VFIO_TYPE} << _IOC_TYPESHIFT;
constexpr std::uint64_t kVerbs = std::uint64_t{RDMA_IOCTL_MAGIC} << _IOC_TYPESHIFT;
constexpr std::uint64_t kFull = ~std::uint64_t{0};

constexpr std::array<Condition, 10> kConditions = {{
    // Another host is reached over the sockets that there are.
    {SCMP_SYS(socket), 0, kFull, AF_UNIX},
    // A thread, not a process: the EAL makes one for each client of its telemetry.
    {SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD},
    {SCMP_SYS(mmap), 2, PROT_EXEC, 0},
    {SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
    {SCMP_SYS(prctl), 0, kFull, PR_SET_NAME},
    // Of the thread that asks: the journal's may come to that only behind the filter.
    {SCMP_SYS(setpriority), 1, kFull, 0},
    // Memory that was shared with a model's process holds zeros again (base/shared_pages.hpp).
    {SCMP_SYS(fallocate), 1, kFull, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
    {SCMP_SYS(ioctl), 1, kRequestType, kVfio},
    {SCMP_SYS(ioctl), 1, kRequestType, kVerbs},
    // getrlimit(2); a limit is set through a pointer, which is argument 2
    {SCMP_SYS(prlimit64), 2, kFull, 0},
}};

constexpr std::array<Condition, 3> kInternet = {{
    {SCMP_SYS(socket), 0, kFull, AF_INET},
    {SCMP_SYS(socket), 0, kFull, AF_INET6},
    {SCMP_SYS(socket), 0, kFull, AF_NETLINK},
}};

tl::unexpected<Error> refused(const std::string& what, int error) {
  return fail(error == -EINVAL || error == -ENOSYS ? Errc::Unsupported : Errc::System,
              "seccomp: " + what + ": " + std::strerror(-error) +
                  "; seccomp = false in [process] goes without");
}

Result<void> add(const Filter& filter, std::uint32_t action, int call,
                 std::span<const scmp_arg_cmp> conditions) {
  const int added = seccomp_rule_add_array(
      filter.get(), action, call, static_cast<unsigned>(conditions.size()), conditions.data());
  if (added == 0) return {};
  return refused("call " + std::to_string(call), added);
}

Result<void> add_by_name(const Filter& filter, const Calls& calls) {
  std::istringstream names(calls.names);
  for (std::string name; names >> name;) {
    const int call = ::seccomp_syscall_resolve_name(name.c_str());
    if (call == __NR_SCMP_ERROR) return refused("call " + name + " for " + calls.are_for, -EINVAL);
    PORTCULLIS_TRY(add(filter, SCMP_ACT_ALLOW, call, {}));
  }
  return {};
}

Result<void> add_conditions(const Filter& filter, std::span<const Condition> conditions) {
  for (const Condition& each : conditions) {
    const scmp_arg_cmp wanted{
        .arg = each.nth, .op = SCMP_CMP_MASKED_EQ, .datum_a = each.mask, .datum_b = each.value};
    PORTCULLIS_TRY(add(filter, SCMP_ACT_ALLOW, each.call, {&wanted, 1}));
  }
  return {};
}

Result<void> add_all(const Filter& filter, Reach reach) {
  for (const Calls& each : kAllowed) PORTCULLIS_TRY(add_by_name(filter, each));
  PORTCULLIS_TRY(add_conditions(filter, kConditions));
  if (reach == Reach::Connects) {
    PORTCULLIS_TRY(add_by_name(filter, kConnecting));
    PORTCULLIS_TRY(add_conditions(filter, kInternet));
  }
  // Its flags are behind a pointer, where no filter sees them; glibc then takes clone(2).
  PORTCULLIS_TRY(add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), {}));
  // Of this process alone.
  const scmp_arg_cmp own{
      .arg = 0, .op = SCMP_CMP_EQ, .datum_a = static_cast<scmp_datum_t>(::getpid()), .datum_b = 0};
  return add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), {&own, 1});
}

}  // namespace

Result<void> allow_listed_calls_alone(Reach reach) {
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), &seccomp_release);
  if (!filter) return refused("seccomp_init", -ENOMEM);
  if (const int set = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1); set != 0)
    return refused("a filter for every thread", set);
  (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_API_SYSRAWRC, 1);  // errors as they are
  constexpr std::uint32_t kBinaryTree = 2;
  (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_LOG, 1);
  PORTCULLIS_TRY(add_all(filter, reach));
  // What looks up names is loaded now (nss(5)): afterwards nothing is mapped to be executed.
  (void)::getpwnam("");
  if (const int loaded = seccomp_load(filter.get()); loaded != 0)
    return refused("seccomp_load", loaded);
  return {};
}

}  // namespace portcullis::service::daemon
