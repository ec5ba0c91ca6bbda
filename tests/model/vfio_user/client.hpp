// SPDX-License-Identifier: BSD-3-Clause
//
// The server as a client sees it: raw messages over a socket pair, built here from
// docs/interop/vfio-user.rst of QEMU and not from our own structures.
#pragma once

#include <gtest/gtest.h>
#include <linux/vfio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/vfio_user/server.hpp"

namespace portcullis::model::vfio_user {

using Bytes = std::vector<std::uint8_t>;

/// Little-endian bytes of a list of (value, width) pairs.
struct Word {
  std::uint64_t value;
  unsigned bytes;
};
inline Bytes words(std::initializer_list<Word> list) {
  Bytes out;
  for (const Word& word : list)
    for (unsigned i = 0; i < word.bytes; ++i)
      out.push_back(static_cast<std::uint8_t>(word.value >> (8 * i)));
  return out;
}

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class RecordingBackend final : public Backend {
 public:
  std::uint64_t region_bytes(std::uint32_t region) const override {
    return region == VFIO_PCI_BAR0_REGION_INDEX ? 4096 : 0;
  }
  std::uint32_t interrupts(std::uint32_t index) const override {
    return index == VFIO_PCI_MSIX_IRQ_INDEX ? 4 : 0;
  }
  void read(std::uint32_t, std::uint64_t offset, std::span<std::byte> to) override {
    std::memset(to.data(), static_cast<int>(offset), to.size());
  }
  void write(std::uint32_t, std::uint64_t offset, std::span<const std::byte> from) override {
    writes.emplace_back(offset, from.size());
  }
  Result<void> mapped(const GuestRange& range) override {
    ranges.push_back(range);
    return {};
  }
  void unmapped(const GuestRange& range) override {
    // The server lets go of its ranges in the order that most of them came in.
    const auto at = std::ranges::find(ranges, range.address, &GuestRange::address);
    if (at != ranges.end()) ranges.erase(at);
  }
  void reset() override {
    ++resets;
    if (waiting != nullptr) waiting->abandon_dma();
  }
  bool has_room() const override { return room; }

  std::vector<std::pair<std::uint64_t, std::size_t>> writes;
  std::deque<GuestRange> ranges;  // 65,535 in one test
  int resets = 0;
  Server* waiting = nullptr;  // told of a reset
  bool room = true;
};

struct RawReply {
  std::uint32_t flags = 0;
  std::uint32_t error = 0;
  Bytes payload;
};

class VfioUserServer : public ::testing::Test {
 protected:
  explicit VfioUserServer(Patience patience = {}) {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    client_ = UniqueFd(pair[0]);
    // A reply that does not come fails its test instead of hanging it.
    const timeval five_seconds{.tv_sec = 5, .tv_usec = 0};
    EXPECT_EQ(
        setsockopt(client_.get(), SOL_SOCKET, SO_RCVTIMEO, &five_seconds, sizeof five_seconds), 0);
    server_.emplace(backend_, UniqueFd(pair[1]), patience);
  }

  void send_raw(const Bytes& bytes, std::vector<int> fds = {}) const {
    iovec part{.iov_base = const_cast<std::uint8_t*>(bytes.data()), .iov_len = bytes.size()};
    std::array<char, CMSG_SPACE(64 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    }
    EXPECT_EQ(sendmsg(client_.get(), &message, 0), static_cast<ssize_t>(bytes.size()));
  }

  void send_command(std::uint16_t command, const Bytes& payload, std::vector<int> fds = {},
                    std::uint32_t flags = 0) {
    send_raw(words({{7, 2}, {command, 2}, {16 + payload.size(), 4}, {flags, 4}, {0, 4}}) + payload,
             std::move(fds));
  }

  RawReply receive_reply() const {
    std::array<std::uint8_t, 8192> raw{};
    const ssize_t got = recv(client_.get(), raw.data(), raw.size(), MSG_DONTWAIT);
    EXPECT_GE(got, 16);
    RawReply reply;
    std::memcpy(&reply.flags, raw.data() + 8, 4);
    std::memcpy(&reply.error, raw.data() + 12, 4);
    reply.payload.assign(raw.begin() + 16, raw.begin() + std::max<ssize_t>(got, 16));
    return reply;
  }

  /// One command, served, and its reply.
  RawReply call(std::uint16_t command, const Bytes& payload, std::vector<int> fds = {}) {
    send_command(command, payload, std::move(fds));
    const auto served = server_->serve_one();
    EXPECT_TRUE(served && *served);
    return receive_reply();
  }

  void negotiate(std::size_t max_transfer = 65536) {
    const std::string json = R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":)" +
                             std::to_string(max_transfer) + "}}";
    Bytes payload = words({{0, 2}, {1, 2}});
    payload.insert(payload.end(), json.c_str(), json.c_str() + json.size() + 1);
    EXPECT_EQ(call(1, payload).flags, 1U);
  }

  RawReply map(std::uint64_t address, std::uint64_t bytes, int fd, std::uint64_t offset = 0) {
    return call(2, words({{32, 4}, {3, 4}, {offset, 8}, {address, 8}, {bytes, 8}}),
                fd < 0 ? std::vector<int>{} : std::vector<int>{fd});
  }

  static UniqueFd guest_file(std::size_t bytes) {
    UniqueFd fd(memfd_create("guest", 0));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    return fd;
  }

  RecordingBackend backend_;
  UniqueFd client_;
  std::optional<Server> server_;
};

}  // namespace portcullis::model::vfio_user
