// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/lost_pages.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace portcullis::model::vfio_user {
namespace {

/// The handler reads these, so they are all there is to know; `bytes` stands before `address` does.
struct Watched {
  std::atomic<std::uintptr_t> address{0};  // 0: nobody's
  std::atomic<std::size_t> bytes{0};
};

std::array<Watched, LostPages::kMaxMappings> watched;
std::mutex watched_mutex;
std::size_t guards = 0;
std::atomic<bool> is_lost{false};
struct sigaction before {};

std::uintptr_t address_of(const void* at) noexcept { return std::bit_cast<std::uintptr_t>(at); }

/// The whole mapping at once: a page of a huge one could not be replaced alone.
bool replace_mapping_of(void* at) noexcept {
  for (const Watched& mapping : watched) {
    const std::uintptr_t address = mapping.address.load();
    if (address == 0 || address_of(at) - address >= mapping.bytes.load()) continue;
    return mmap(std::bit_cast<void*>(address), mapping.bytes.load(), PROT_READ | PROT_WRITE,
                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
  }
  return false;
}

// Comes from the access itself, never in the middle of anything else; mmap is a bare system call.
extern "C" void on_lost_page(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  if (info->si_code > 0 && replace_mapping_of(info->si_addr)) {
    is_lost.store(true);
  } else {
    // Not ours. The access is made again and meets who was there before; a signal that somebody
    // sent is sent on.
    sigaction(signal, &before, nullptr);
    if (info->si_code <= 0) static_cast<void>(raise(signal));
  }
  errno = error;
}

}  // namespace

LostPages::LostPages() {
  const std::lock_guard lock(watched_mutex);
  if (guards++ != 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_lost_page;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, nullptr, &before);
  sigaction(SIGBUS, &action, nullptr);
}

LostPages::~LostPages() {
  const std::lock_guard lock(watched_mutex);
  if (--guards == 0) sigaction(SIGBUS, &before, nullptr);
}

bool LostPages::watch(std::span<std::byte> mapping) noexcept {
  const std::lock_guard lock(watched_mutex);
  for (Watched& place : watched) {
    if (place.address.load() != 0) continue;
    place.bytes.store(mapping.size());
    place.address.store(address_of(mapping.data()));
    return true;
  }
  return false;
}

void LostPages::forget(std::span<std::byte> mapping) noexcept {
  const std::lock_guard lock(watched_mutex);
  for (Watched& place : watched) {
    if (place.address.load() != address_of(mapping.data())) continue;
    place.address.store(0);
    return;
  }
}

bool LostPages::take() noexcept { return is_lost.exchange(false); }

}  // namespace portcullis::model::vfio_user
