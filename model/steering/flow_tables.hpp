// SPDX-License-Identifier: BSD-3-Clause
//
// Flow steering: tables, groups, entries and flow counters as commands make them, the root of each
// domain, and what becomes of a frame. Four domains, in the order in which a frame meets them:
//
//   RDMA_TX  packets of queue pairs, requests and answers alike, before the port sends them or
//            gives them back to itself. They do not go on to NIC_TX: Linux leads them there where a
//            card has a capability for that (MLX5_FT_NIC_TX_RDMA_2_NIC_TX, mlx5_ipsec_device_caps
//            of en_accel/ipsec_offload.c). Whether ConnectX-5 has the domain is a hypothesis
//   NIC_TX   what send queues send on an Ethernet port
//   NIC_RX   every Ethernet frame; RoCE frames only with nic-rx-bypassed-for-roce=off
//   RDMA_RX  RoCE frames, requests and answers alike, only with behaviour rdma-rx-in-path
//
// A table is looked through by ascending flow_index, the first entry that matches decides; a miss
// follows table_miss_action, DEF going on as if there were no table. Of several destinations of an
// entry the first is where the frame goes on; each of the others gets a copy. An entry of an
// Ethernet port's NIC_RX or NIC_TX may change the frame: what comes off it first, then its fields,
// then what goes on it (next_action_state of mlx5/core/steering/dr_action.c). Its destinations get
// the changed frame, and a table that follows compares that one. A frame whose
// QP has a root of its own (underlay_qpn) meets that before either domain. What a real card does in
// these places is not published beyond what Linux relies on; each finding about one firmware is a
// behaviour.
//
// Of an Ethernet port's NIC_RX and NIC_TX a table may be a program's own (sw_owner): what it holds
// stands in steering memory, where the program writes it (sw_icm.hpp). program_entries.cpp follows
// it, and goes back to tables of commands where an address leads to one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/behaviours.hpp"
#include "model/id_table.hpp"
#include "model/port_type.hpp"
#include "model/request.hpp"
#include "model/steering/flow_counters.hpp"
#include "model/steering/flow_key.hpp"
#include "model/steering/header_contexts.hpp"
#include "model/steering/lookup_tag.hpp"
#include "model/steering/sw_icm.hpp"
#include "model/verdict.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/steering_commands.hpp"

namespace portcullis::model {

/// A TIR that gets a frame, the tag of the entry that forwards to it, and what entries made of the
/// frame.
struct FlowTarget {
  std::uint32_t tirn = 0;
  std::uint32_t flow_tag = 0;
  std::shared_ptr<const FrameBuffer> changed = {};  // null: it is as it came
  std::uint32_t metadata = 0;                       // register B

  [[nodiscard]] std::span<const std::byte> frame(std::span<const std::byte> as_it_came) const {
    return changed == nullptr ? as_it_came : std::span<const std::byte>(*changed);
  }
};

/// What steering says of a frame.
struct FlowDecision {
  enum class Kind : std::uint8_t {
    Pass,  // on to the transport; an Ethernet frame without a queue is lost
    Drop,
    Tir,  // to the receive queues behind `to`
  };
  Kind kind = Kind::Pass;
  FlowTarget to = {};                   // of Pass: the frame alone
  std::vector<FlowTarget> copies = {};  // of Tir: who gets it too
};

class FlowTables {
 public:
  static constexpr std::uint32_t kLogMaxTables = 12;
  static constexpr std::uint32_t kLogMaxTableSize = 16;
  /// All that flow_table_context.level holds: test_flow_table_drop of rdma-core 64 makes tables at
  /// level 200 of RDMA_RX and RDMA_TX, and asks for no capability.
  static constexpr std::uint32_t kMaxLevel = 255;
  static constexpr std::uint32_t kMaxDestinations = 32;
  static constexpr std::uint32_t kLogMaxSamplers = 12;
  /// Tables, entries of programs and their actions on headers that a frame and its copies may meet.
  /// What a program writes may go in circles; how far a card follows is not published.
  static constexpr std::uint32_t kMostSteps = 4096;

  struct Deps {
    const Behaviours* behaviours = nullptr;
    PortType port_type = PortType::Ethernet;
    /// Whether `number` is a live object. `is_hot`: whether the QP has received since it connected.
    bool (*has_tir)(void* context, std::uint32_t number) = nullptr;
    bool (*has_qp)(void* context, std::uint32_t number) = nullptr;
    bool (*is_hot)(void* context, std::uint32_t number) = nullptr;
    void* context = nullptr;
    /// Null: no table is a program's.
    const SwIcm* icm = nullptr;
    /// What a program wrote makes no sense, and a frame was dropped for it.
    void (*tell)(void* context, std::string_view text) = nullptr;
  };

  explicit FlowTables(const Deps& deps) noexcept : deps_(deps) {}

  // Commands: model/commands_flow.cpp has looked at what is neither table, group nor entry.
  /// `uid` is who gives the command; 0: the kernel.
  Verdict create_table(prm::FlowTableType type, prm::ConstView<prm::flow_table_context> context,
                       std::uint32_t& id, std::uint32_t uid = 0);
  Verdict modify_table(prm::FlowTableType type, std::uint32_t id,
                       prm::ConstView<prm::flow_table_context> context);
  /// `context` is zeroed.
  Verdict query_table(prm::FlowTableType type, std::uint32_t id,
                      prm::View<prm::flow_table_context> context) const;
  Verdict destroy_table(prm::FlowTableType type, std::uint32_t id);
  Verdict create_group(prm::ConstView<prm::create_flow_group_in> in, std::uint32_t& id);
  /// `out` is zeroed.
  Verdict query_group(prm::ConstView<prm::query_flow_group_in> in,
                      prm::View<prm::query_flow_group_out> out) const;
  Verdict destroy_group(prm::ConstView<prm::destroy_flow_group_in> in);
  /// `list` is destination[].
  Verdict set_entry(prm::ConstView<prm::set_fte_in> in, std::span<const std::byte> list);
  /// `list` as for set_entry(); too short a list is cut.
  Verdict query_entry(prm::ConstView<prm::query_fte_in> in, prm::View<prm::flow_context> context,
                      std::span<std::byte> list) const;
  Verdict delete_entry(prm::ConstView<prm::delete_fte_in> in);
  Verdict set_root(prm::ConstView<prm::set_flow_table_root_in> in);

  /// Of a context that no entry names.
  Verdict free_changes(std::uint32_t id);
  Verdict free_reformat(std::uint32_t id);

  // What packets are sampled by: objects that a program's entries lead to.
  Verdict create_sampler(prm::ConstView<prm::sampler_obj> context, std::uint32_t& id);
  /// `context` is zeroed.
  Verdict query_sampler(std::uint32_t id, prm::View<prm::sampler_obj> context) const;
  Verdict destroy_sampler(std::uint32_t id);

  /// A frame of a send queue, whole as it would go out: Pass, unless NIC_TX drops it. `metadata` is
  /// what its WQE says, for register A.
  [[nodiscard]] FlowDecision send(std::span<const std::byte> frame, std::uint32_t sqn = 0,
                                  std::uint32_t metadata = 0);
  /// RDMA_TX has a root. While it has none, leave() does not need to be asked.
  [[nodiscard]] bool holds_packets() const noexcept { return rdma_send_root_.has_value(); }
  /// Whether a packet of a queue pair, whole as it would go out, leaves it.
  [[nodiscard]] bool leave(std::span<const std::byte> frame);
  /// Some frame that comes may meet a table. While it does not hold, nothing below needs to be
  /// asked.
  [[nodiscard]] bool engaged() const noexcept { return engaged_; }
  /// A RoCE frame of a port with RoCE on, or one of an InfiniBand link, for `qpn`; `hot` is whether
  /// that QP has received since it connected.
  [[nodiscard]] FlowDecision admit(std::span<const std::byte> frame, std::uint32_t qpn, bool hot);
  /// A datagram of IP over InfiniBand for `qpn`, by its Ethernet frame: Pass where the queue pair
  /// has no root.
  [[nodiscard]] FlowDecision admit_datagram(std::span<const std::byte> frame, std::uint32_t qpn);
  /// Any other Ethernet frame; `is_own`: it comes by the function's own loopback.
  [[nodiscard]] FlowDecision classify(std::span<const std::byte> frame, bool is_own = false);
  /// An entry forwards to `tirn`.
  [[nodiscard]] bool uses_tir(std::uint32_t tirn) const noexcept;

  void clear();
  [[nodiscard]] std::size_t tables() const noexcept { return tables_.size(); }
  [[nodiscard]] std::size_t groups() const noexcept;
  [[nodiscard]] std::size_t entries() const noexcept;
  FlowCounters counters;
  HeaderContexts headers;

 private:
  struct Destination {
    prm::FlowDestination type{};
    std::uint32_t id = 0;
  };
  struct Entry {
    std::uint32_t group = 0;
    std::uint32_t flow_tag = 0;
    std::uint16_t action = 0;
    std::uint32_t modify_header = 0;  // of MOD_HDR, as the next of their actions
    std::uint32_t reformat = 0;
    std::uint32_t pushed_tag = 0;
    FlowKey value;
    std::vector<Destination> destinations;
    std::vector<std::uint32_t> counters;

    [[nodiscard]] bool has(prm::FlowAction which) const noexcept {
      return (action & prm::number(which)) != 0;
    }
  };
  struct Group {
    std::uint32_t start = 0;
    std::uint32_t end = 0;
    std::uint32_t sections = 0;  // match_criteria_enable
    FlowKey mask;
  };
  struct Table {
    prm::FlowTableType type{};
    std::uint32_t level = 0;
    std::uint32_t size = 0;
    prm::FlowTableMiss miss{};
    std::uint32_t miss_id = 0;
    bool may_reformat = false;   // reformat_en
    bool may_decap = false;      // decap_en
    bool only_ends = false;      // termination_table
    bool is_programs = false;    // sw_owner, as the next two
    std::uint64_t entry_at = 0;  // sw_owner_icm_root_0
    std::uint32_t uid = 0;
    std::map<std::uint32_t, Group> groups;   // by id
    std::map<std::uint32_t, Entry> entries;  // by flow_index
  };
  struct UnderlayRoot {
    std::uint32_t table = 0;
    bool before_traffic = false;  // attached while the QP was cold
  };
  /// One of `ratio` frames goes to `sampled`, too.
  struct Sampler {
    std::uint32_t ratio = 0;
    std::uint32_t sampled = 0;  // tables, of NIC_RX
    std::uint32_t next = 0;
    std::uint32_t seen = 0;
    prm::Buffer<prm::sampler_obj> context;
  };
  /// A frame on its way through tables.
  struct Steered {
    std::span<const std::byte> bytes;
    FlowKey key;
    std::shared_ptr<const FrameBuffer> changed = {};  // what `bytes` are, once it was changed
    PacketSource from = {};
    SteeringRegisters registers = {};
    std::uint32_t program_tag = 0;  // of a program's entry; one of a command's may say another
    std::uint32_t flow_tag = 0;
  };
  /// How a walk through tables ended.
  enum class End : std::uint8_t { Pass, Drop, Tir, OtherDomain };
  struct Walk {
    End end = End::Pass;
    FlowTarget to = {};
    std::vector<FlowTarget> copies = {};
    bool by_program = false;  // an entry of a program ended it
  };
  /// Where a frame is next: the first three lead on.
  struct Stop {
    enum class Kind : std::uint8_t { Table, Entry, Sampler, Pass, Drop, Tir, OtherDomain };
    Kind kind = Kind::Drop;
    std::uint64_t where = 0;  // the number of an object, or the address of an entry
  };
  struct Copy {
    Stop at;
    Steered frame;
  };
  /// What a frame and its copies have in common.
  struct Journey {
    prm::FlowTableType domain{};
    bool underlay = false;
    std::uint32_t uid = 0;  // whose entries it is at
    bool by_program = false;
    std::uint32_t steps_left = kMostSteps;
    std::vector<Copy> waiting = {};
  };
  struct ProgramEntry;

  [[nodiscard]] Table* find(prm::FlowTableType type, std::uint32_t id) noexcept;
  [[nodiscard]] const Table* find(prm::FlowTableType type, std::uint32_t id) const noexcept;
  [[nodiscard]] Verdict check_miss(prm::FlowTableType type, std::uint32_t level,
                                   prm::ConstView<prm::flow_table_context> context) const;
  [[nodiscard]] bool is_target(std::uint32_t id) const noexcept;
  [[nodiscard]] Verdict check_mask(FlowKey mask) const noexcept;
  [[nodiscard]] Verdict read_entry(const Table& table, prm::ConstView<prm::flow_context> context,
                                   std::span<const std::byte> list, Entry& entry) const;
  /// prm::FlowAction that change a frame, or-ed, which entries of such a table may have.
  [[nodiscard]] std::uint32_t changes_of(prm::FlowTableType type) const noexcept;
  [[nodiscard]] Verdict read_changes(const Table& table, prm::ConstView<prm::flow_context> context,
                                     Entry& entry) const;
  /// Some entry has `action`, and `member` is `id`.
  [[nodiscard]] bool names(prm::FlowAction action, std::uint32_t Entry::*member,
                           std::uint32_t id) const noexcept;
  [[nodiscard]] Verdict read_destinations(const Table& table, std::uint32_t count,
                                          std::span<const std::byte> list, Entry& entry) const;
  [[nodiscard]] Verdict read_counters(std::uint32_t count, std::span<const std::byte> list,
                                      Entry& entry) const;
  Verdict modify_entry(Table& table, std::uint32_t index, std::uint32_t mask, Entry&& wanted);
  [[nodiscard]] bool is_domain(prm::FlowTableType type) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t>& root_of(prm::FlowTableType type) noexcept;
  Verdict set_underlay_root(std::uint32_t qpn, std::uint32_t table, bool disconnect);
  void learn_engaged() noexcept;
  [[nodiscard]] static FlowDecision decide(Walk walk) noexcept;
  [[nodiscard]] bool is_inert(const Table& table, const Entry& entry, bool underlay) const;
  [[nodiscard]] Steered steered(std::span<const std::byte> frame) const;
  void change(const Entry& entry, Steered& frame) const;
  void become(Steered& frame, FrameBuffer&& bytes) const;
  [[nodiscard]] Walk walk(std::uint32_t table, Steered frame, bool underlay);
  [[nodiscard]] Walk go(Stop at, Steered frame, Journey& journey);
  void copy_to(Stop at, const Steered& frame, Journey& journey);
  [[nodiscard]] Stop through_table(std::uint32_t id, Steered& frame, Journey& journey);

  // program_entries.cpp
  [[nodiscard]] Verdict check_programs(prm::FlowTableType type,
                                       prm::ConstView<prm::flow_table_context> context,
                                       std::uint32_t uid) const;
  [[nodiscard]] Stop dropped(std::uint64_t at, std::string_view why) const;
  [[nodiscard]] Stop through_entry(std::uint64_t at, Steered& frame, Journey& journey);
  [[nodiscard]] Stop through_sampler(std::uint32_t id, const Steered& frame, Journey& journey);
  [[nodiscard]] Stop stop_at(std::uint64_t address, const ProgramEntry& from,
                             const Journey& journey) const;
  [[nodiscard]] Stop after(const ProgramEntry& entry, const Steered& frame,
                           const Journey& journey) const;
  [[nodiscard]] std::string_view act(const ProgramEntry& entry, Steered& frame, Journey& journey);
  [[nodiscard]] std::string_view act_on_sent(const ProgramEntry& entry, Steered& frame) const;
  [[nodiscard]] std::string_view act_on_received(const ProgramEntry& entry, Steered& frame) const;
  [[nodiscard]] std::string_view rewrite(const ProgramEntry& entry, Steered& frame,
                                         Journey& journey) const;

  Deps deps_;
  bool engaged_ = false;
  std::optional<std::uint32_t> nic_root_;
  std::optional<std::uint32_t> rdma_root_;
  std::optional<std::uint32_t> rdma_send_root_;                     // RDMA_TX
  std::optional<std::uint32_t> send_root_;                          // NIC_TX
  std::unordered_map<std::uint32_t, UnderlayRoot> underlay_roots_;  // by QPN
  std::unordered_map<std::uint32_t, Table> tables_;
  std::unordered_map<std::uint32_t, Sampler> samplers_;
  IdAllocator sampler_ids_{1, 1U << kLogMaxSamplers};
  IdAllocator table_ids_{1, 1U << kLogMaxTables};
  IdAllocator group_ids_{1, 1U << 24};  // group_id of CREATE_FLOW_GROUP's answer
};

}  // namespace portcullis::model
