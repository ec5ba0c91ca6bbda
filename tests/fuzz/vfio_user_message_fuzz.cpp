// SPDX-License-Identifier: BSD-3-Clause
//
// A client that says anything: messages of the vfio-user protocol, well formed or not, with file
// descriptors, against hca-server's whole device. libFuzzer drives it in the asan build; elsewhere
// corpus_test.cpp runs the corpus once.
//
// An input is a row of chunks: a byte whose low two bits say how many file descriptors go with it,
// two bytes of length (little-endian), and that many bytes as they go to the socket.
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "base/unique_fd.hpp"
#include "model/hca_server/hca_function.hpp"

namespace {

using portcullis::UniqueFd;
using portcullis::model::HcaFunction;
using portcullis::model::vfio_user::Server;

constexpr std::size_t kGuestBytes = 0x10000;
constexpr std::size_t kMaxInputBytes = 0x10000;
constexpr std::size_t kChunkHeader = 3;

void require(bool held) {
  if (!held) std::abort();
}

HcaFunction& function() {
  static const std::unique_ptr<HcaFunction> one = [] {
    auto made = HcaFunction::create({});
    require(made.has_value());
    return *std::move(made);
  }();
  return *one;
}

/// Guest memory first, then eventfds.
UniqueFd make_fd(std::size_t which) {
  if (which != 0) return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd memory(memfd_create("fuzz", MFD_CLOEXEC));
  require(ftruncate(memory.get(), kGuestBytes) == 0);
  return memory;
}

/// False: the socket holds no more.
bool send_chunk(int socket, std::span<const std::uint8_t> bytes, std::size_t fd_count) {
  std::array<UniqueFd, 3> fds;
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < fd_count; ++i) {
    fds[i] = make_fd(i);
    numbers[i] = fds[i].get();
  }
  iovec part{.iov_base = const_cast<std::uint8_t*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof numbers)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd_count != 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    std::memcpy(CMSG_DATA(rights), numbers.data(), fd_count * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/// As much as the socket holds, which is less where chunks are short.
void send_input(int socket, std::span<const std::uint8_t> input) {
  while (input.size() > kChunkHeader) {
    const std::size_t wanted = input[1] | std::size_t{input[2]} << 8;
    const std::size_t fd_count = input[0] & 3;
    input = input.subspan(kChunkHeader);
    const std::size_t bytes = std::min(wanted, input.size());
    if (bytes != 0 && !send_chunk(socket, input.first(bytes), fd_count)) return;
    input = input.subspan(bytes);
  }
}

/// Takes and forgets what the server says, until it closes.
void drain(int socket) {
  std::array<std::byte, 4096> buffer;
  while (recv(socket, buffer.data(), buffer.size(), 0) > 0) {
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  std::array<int, 2> pair{};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  const UniqueFd client(pair[0]);
  // Everything is there before the server looks, and then the end: no request of its waits.
  send_input(client.get(), std::span(data, std::min(bytes, kMaxInputBytes)));
  shutdown(client.get(), SHUT_WR);
  std::thread reader([fd = client.get()] { drain(fd); });
  HcaFunction& device = function();
  {
    Server server(device, UniqueFd(pair[1]));
    device.attach(&server);
    for (auto served = server.serve_one(); served && *served; served = server.serve_one())
      device.serve();
    device.attach(nullptr);
  }
  reader.join();
  device.reset();
  require(device.census().objects() == 0 && device.census().commands_in_flight == 0);
  return 0;
}
