// SPDX-License-Identifier: BSD-3-Clause
//
// The scheduler that a fence must survive: packets on the wire and before their check, DMA between
// check and memory, answers, all held as long as it likes and let go in any order. It keeps account
// of what it holds, so that a run can say where packets and DMA stood when the key was taken away.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/model.hpp"
#include "model/random.hpp"
#include "model/transport/pace.hpp"

namespace portcullis::proof::adversary {

/// Where something may stand at the instant of the mkey step.
enum class Position : std::uint8_t {
  BeforeCheck,      // received, or on the wire; its key has not been looked at
  WritePending,     // the key allowed it, memory has not changed
  SendPending,      // the same for what goes into a receive
  AtomicPending,    // the same for an atomic
  ReadPending,      // the key allowed it, memory has not been read
  BetweenPackets,   // some packets of a message were carried out, some were not
  DuplicateWrite,   // carried out, its acknowledgement lost, sent again
  DuplicateSend,    // the same
  ReadAgain,        // carried out, its data held up: it will be, or is, asked for again
  DuplicateAtomic,  // carried out, its answer lost, sent again
  PsnWrap,          // packets on both sides of PSN 0
  StalePacket,      // of a connection before this one, whose QP number this one has
};
inline constexpr std::array kPositions{
    Position::BeforeCheck,     Position::WritePending,  Position::SendPending,
    Position::AtomicPending,   Position::ReadPending,   Position::BetweenPackets,
    Position::DuplicateWrite,  Position::DuplicateSend, Position::ReadAgain,
    Position::DuplicateAtomic, Position::PsnWrap,       Position::StalePacket};
[[nodiscard]] std::string_view name(Position position) noexcept;

/// What stood where, of one connection.
struct Occupancy {
  std::array<std::uint32_t, kPositions.size()> at{};
  std::uint32_t packets = 0;  // in flight
  std::uint32_t dmas = 0;     // pending
};

enum class MessageKind : std::uint8_t { Write, Send, Read, Atomic };

/// One message of a client.
struct Message {
  MessageKind kind{};
  std::uint32_t end_psn = 0;  // one past its last packet
};

/// A connection as the adversary follows it. Messages are told to it in the order of posting.
struct Connection {
  std::uint32_t serial = 0;
  std::uint32_t qpn = 0;  // of the lease
  std::uint32_t client_qpn = 0;
  std::uint32_t first_psn = 0;
  std::uint32_t next_psn = 0;  // of the next message
  std::uint32_t done_psn = 0;  // one past the last packet that passed its check
  std::vector<Message> messages;

  /// The message that `psn` belongs to, if it is known.
  [[nodiscard]] const Message* message_of(std::uint32_t psn) const noexcept;
  /// Some packets of a message have passed their check, and some have not.
  [[nodiscard]] bool is_between_packets() const noexcept;
};

class Adversary final : public model::Pace {
 public:
  /// Of 256 steps it holds so many. Nothing is held beyond `most`.
  struct Mood {
    std::uint32_t wire = 0;      // requests on the wire
    std::uint32_t check = 0;     // before their check
    std::uint32_t memory = 0;    // DMA
    std::uint32_t response = 0;  // acknowledgements, on the wire or before
  };
  struct Held {
    Ticket ticket = 0;
    model::PaceStep step;
    std::uint32_t serial = 0;  // of the connection that had the QP number when it was held
    bool immortal = false;     // stays until it is let go by name
  };

  explicit Adversary(std::uint64_t seed, std::uint64_t most_holds)
      : random_(seed), holds_left_(most_holds) {}

  void set_mood(const Mood& mood) noexcept { mood_ = mood; }
  /// Follows a connection; one that had the same QP number is over.
  void follow(Connection& connection) { connections_.push_back(&connection); }

  std::uint64_t delay_ns(const model::PaceStep& step, Ticket ticket) override;

  /// Lets one go, any, or any that is no DMA; false when there is none that may.
  bool let_one_go(model::Model& model, bool spares_dma = false);
  /// There is one that let_one_go() would take.
  [[nodiscard]] bool may_let_go(bool spares_dma) const noexcept;
  /// So many as there are of these, in any order.
  enum class Release : std::uint8_t {
    Packets,     // all but DMA and what is immortal
    Mortal,      // DMA too
    Everything,  // and what is immortal
  };
  void let_all_go(model::Model& model, Release release);
  /// One by its ticket.
  void let_go(model::Model& model, Ticket ticket);
  /// Requests of `connection` on the wire, `most` of them, outlive everything but let_go().
  std::uint32_t keep_on_wire(const Connection& connection, std::uint32_t most);
  /// What keep_on_wire() kept of `connection` and is still there.
  [[nodiscard]] std::vector<Held> stale_of(const Connection& connection) const;
  [[nodiscard]] const std::vector<Held>& held() const noexcept { return held_; }
  [[nodiscard]] std::size_t held_count() const noexcept { return held_.size(); }
  /// Ever.
  [[nodiscard]] std::uint64_t holds() const noexcept { return holds_; }
  [[nodiscard]] Occupancy occupancy(const Connection& connection) const;

  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept { return random_.below(bound); }

 private:
  static constexpr std::size_t kMostHeld = 96;  // far fewer than the wire has frames

  [[nodiscard]] static Position place_of(const Connection& connection, const model::PaceStep& step);
  [[nodiscard]] static Position pending_place_of(const Connection& connection,
                                                 const model::PaceStep& step);
  [[nodiscard]] std::uint32_t chance(const model::PaceStep& step) const noexcept;
  [[nodiscard]] Connection* of(std::uint32_t qpn) noexcept;
  void release(model::Model& model, std::size_t index);

  model::Random random_;
  std::uint64_t holds_left_;
  std::uint64_t holds_ = 0;
  Mood mood_;
  std::vector<Connection*> connections_;
  std::vector<Held> held_;
};

}  // namespace portcullis::proof::adversary
