// SPDX-License-Identifier: BSD-3-Clause
//
// Clients that write into leased memory and never stop: behind the port of a model in this process,
// with no card and no driver of their own, so that they outlive the server and heed nobody. Each
// sends RDMA WRITEs of 64 bytes that say whose they are, in PSN order, and goes back to the first
// that was not acknowledged. Judge sees every DMA that such a WRITE becomes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/hca_server/frame_channel.hpp"
#include "model/model.hpp"
#include "model/port_settings.hpp"
#include "model/transport/frame.hpp"

namespace portcullis::testing {

/// What became of a WRITE of a lease's client, and when, by CLOCK_MONOTONIC.
struct Moment {
  std::uint64_t tag = 0;
  std::uint64_t ns = 0;
};

/// What a lease's client was told.
struct Target {
  std::uint64_t tag = 0;      // of this client, never another's
  std::uint32_t own_qpn = 0;  // answers are sent there
  std::uint32_t qpn = 0;      // of the lease
  std::uint32_t psn = 0;      // the first
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Both ends of the wire.
struct Addresses {
  model::Gid client_gid{}, port_gid{};
  model::Mac client_mac{}, port_mac{};
};

class Writers final : public model::FrameChannel {
 public:
  static constexpr std::size_t kPayload = 64;
  static constexpr std::uint64_t kMagic = 0x77726974'7465726eULL;
  /// The newest go on; of clients of long ago nothing more is to be learned.
  static constexpr std::size_t kMost = 600;

  void set_addresses(const Addresses& addresses);
  void add(const Target& target);
  /// From now on that client writes `nonce` into its region's first word, again and again.
  void meet(std::uint64_t tag, std::uint64_t nonce);
  [[nodiscard]] std::uint64_t sent() const;
  /// Of each client the first time that the responder said it may not.
  [[nodiscard]] std::vector<Moment> refused() const;

  // The wire.
  [[nodiscard]] int fd() const noexcept override { return -1; }
  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> frame) override;
  [[nodiscard]] bool send(std::span<const std::byte> frame) override;

 private:
  struct Writer {
    Target target;
    model::FrameTemplate frames;
    std::uint32_t next = 0;          // PSN
    std::uint32_t acknowledged = 0;  // every PSN before it
    std::uint64_t asked_ns = 0;      // when it went on last
    std::uint64_t nonce = 0;         // as memory has it; 0: nothing is asked for
    bool is_refused = false;
  };
  std::size_t build(Writer& writer, std::span<std::byte> frame) const;

  mutable std::mutex mutex_;
  Addresses addresses_;
  std::deque<Writer> writers_;
  std::size_t turn_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t last_ns_ = 0;
  std::vector<Moment> refused_;
};

/// Sees every DMA of the device, and what of it may not be: a byte that a client changed after the
/// outcome of its lease was told, or after the function was reset, or where another client's lease
/// is, or where one was whose memory nothing has proved.
class Judge final : public model::DmaObserver {
 public:
  void on_dma(std::span<const std::byte> memory, bool is_write) noexcept override;

  /// A grant was told.
  void grant(std::uint64_t tag);
  /// Its outcome was told. `is_proved`: its memory may be somebody else's from now on.
  void end(std::uint64_t tag, bool is_proved);
  /// The function was reset: everything before that has ended.
  void reset();
  void owner(bool is_there);

  struct Report {
    std::uint64_t landed = 0;           // WRITEs
    std::uint64_t landed_orphaned = 0;  // of them while nobody owned the function
    std::uint64_t owners = 0;
    std::uint64_t resets = 0;
    std::vector<std::string> wrong;
  };
  [[nodiscard]] Report report() const;
  /// WRITEs of one client so far.
  [[nodiscard]] std::uint64_t landed_of(std::uint64_t tag) const;
  /// Each WRITE that landed.
  [[nodiscard]] std::vector<Moment> landed() const;

 private:
  struct Lease {
    bool has_ended = false;
    const char* how = "";
    std::uint64_t landed = 0;
    std::vector<std::uintptr_t> pages = {};
  };
  void note(std::string what);

  mutable std::mutex mutex_;
  Report report_;
  std::vector<Moment> landed_;
  bool is_owned_ = false;
  std::map<std::uint64_t, Lease> leases_;
  std::map<std::uintptr_t, std::uint64_t> pages_;  // to the tag that has them
  std::map<std::uintptr_t, std::uint64_t> unproved_;
};

}  // namespace portcullis::testing
