// SPDX-License-Identifier: BSD-3-Clause
//
// Each call that leased has no business with, in a process of its own: answered as ever without the
// list, refused with it; and what it does need, which goes on.
#include "service/daemon/system_calls.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "base/device.hpp"
#include "base/shared_pages.hpp"
#include "base/unique_fd.hpp"

namespace portcullis::service::daemon {
namespace {

constexpr int kNotFiltered = 200;  // above every errno

struct Call {
  const char* name;
  std::function<long()> make;  // -1 and errno when it is refused
};
void PrintTo(const Call& call, std::ostream* to) { *to << call.name; }

long new_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child;
}

long executable_page() {
  constexpr std::size_t kPage = 4096;
  void* at = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? -1 : 0;
}

long page_made_executable() {
  constexpr std::size_t kPage = 4096;
  void* at = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return ::mprotect(at, kPage, PROT_READ | PROT_EXEC);
}

long lowered_limit() {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  return ::setrlimit(RLIMIT_CORE, &none);
}

long priority_as_it_is() {
  return ::setpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()), ::getpriority(PRIO_PROCESS, 0));
}

long another_program() {
  char* const none[] = {nullptr};
  return ::execve("/bin/true", none, none);  // which ends with 0, as a call that was answered does
}

int errno_of(const Call& call) {
  errno = 0;
  return call.make() == -1 ? errno : 0;
}

int filtered_errno_of(const Call& call) {
  return allow_listed_calls_alone() ? errno_of(call) : kNotFiltered;
}

class RefusedCall : public testing::TestWithParam<Call> {};

TEST_P(RefusedCall, IsAnsweredWithoutTheList) {
  EXPECT_EXIT(::_exit(errno_of(GetParam())), testing::ExitedWithCode(0), "");
}

TEST_P(RefusedCall, IsNotPermittedWithIt) {
  EXPECT_EXIT(::_exit(filtered_errno_of(GetParam())), testing::ExitedWithCode(EPERM), "");
}

INSTANTIATE_TEST_SUITE_P(
    Calls, RefusedCall,
    testing::Values(Call{"fork", new_process}, Call{"execve", another_program},
                    Call{"internet", [] { return ::socket(AF_INET, SOCK_STREAM, 0); }},
                    Call{"netlink", [] { return ::socket(AF_NETLINK, SOCK_RAW, 0); }},
                    Call{"kill", [] { return ::kill(::getpid(), 0); }},
                    Call{"killOfItsParent", [] { return ::kill(::getppid(), 0); }},
                    Call{"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, 0, 0); }},
                    Call{"personality", [] { return ::personality(0xffffffff); }},
                    Call{"room",
                         [] { return ::fallocate(-1, 0, 0, 1) == -1 && errno == EBADF ? 0 : -1; }},
                    Call{"priorityOfAProcess", priority_as_it_is},
                    Call{"memfd", [] { return ::memfd_create("x", 0); }},
                    Call{"dumpable", [] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }},
                    Call{"limit", lowered_limit}, Call{"executablePage", executable_page},
                    Call{"pageMadeExecutable", page_made_executable}),
    [](const auto& info) { return std::string(info.param.name); });

/// In a process of its own: 0 when all of it was answered.
int what_a_server_does() {
  const auto shared = make_shared_file("dma", kPageBytes, /*is_fixed=*/true);
  if (!shared || ::write(shared->get(), "x", 1) != 1) return 1;
  if (!allow_listed_calls_alone()) return 1;
  const UniqueFd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!file.is_open() || ::write(file.get(), "x", 1) != 1) return 2;
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return 3;
  std::atomic<bool> ran{false};
  std::thread([&ran] { ran = true; }).join();
  if (!ran || ::setpriority(PRIO_PROCESS, 0, 5) != 0) return 4;
  char left = 'x';
  if (!forget_pages(shared->get(), 0, kPageBytes)) return 5;
  return ::pread(shared->get(), &left, 1, 0) == 1 && left == 0 ? 0 : 6;
}

TEST(ListedCalls, AreAnswered) {
  EXPECT_EXIT(::_exit(what_a_server_does()), testing::ExitedWithCode(0), "");
}

/// What a thread that was there before is answered.
int errno_of_an_older_thread() {
  std::atomic<bool> is_filtered{false};
  std::atomic<int> answered{kNotFiltered};
  std::thread older([&] {
    while (!is_filtered) std::this_thread::yield();
    answered = ::kill(::getpid(), 0) == 0 ? 0 : errno;
  });
  const auto filtered = allow_listed_calls_alone();
  is_filtered = true;
  older.join();
  return filtered ? answered.load() : kNotFiltered;
}

TEST(ListedCalls, CountForThreadsThatWereThereBefore) {
  EXPECT_EXIT(::_exit(errno_of_an_older_thread()), testing::ExitedWithCode(EPERM), "");
}

/// In a process of its own: 0 when a node of a fleet can make what it talks to etcd with, and still
/// no process.
int what_a_node_does() {
  if (!allow_listed_calls_alone(Reach::Connects)) return 1;
  const UniqueFd stream(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!stream.is_open() || (!six.is_open() && errno == EPERM)) return 2;
  return errno_of({"fork", new_process}) == EPERM ? 0 : 3;
}

TEST(ListedCalls, OfANodeMakeSocketsOfTheInternetAndNoProcess) {
  EXPECT_EXIT(::_exit(what_a_node_does()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace portcullis::service::daemon
