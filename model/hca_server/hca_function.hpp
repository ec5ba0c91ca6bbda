// SPDX-License-Identifier: BSD-3-Clause
//
// The model as a PCI function behind vfio-user. Here a store to the BAR is an event: each is put
// into BAR memory and served before the next, so this side sees what the in-process seam cannot,
// such as a doorbell that comes before the ownership bit it announces, or that names another
// command than the one prepared. Guest memory is where the
// client mapped it, or behind messages where no file came with it; interrupts are MSI-X.
//
// Only serve() works, never a client's command: the client may be unable to answer a DMA message
// while it waits for a reply. While serve() waits for such an answer commands go on: stores to the
// BAR line up, everything else takes effect at once, and a reset ends the wait.
//
// QEMU's root ports take no notice of PCI_EXP_LNKCTL_LD (pcie_cap_lnkctl_init of hw/pci/pcie.c), so
// nobody tells of a link that a driver switches off to have the firmware loaded again. Linux keeps
// everybody from the configuration space for 500 ms then (mlx5_pci_link_toggle of
// mlx5/core/fw_reset.c): that it is quiet while the firmware waits is what the link's end is seen
// by.
//
// For a process of this host (Owner::Process) the seam is that of the model in process instead: the
// BAR is memory of both, its doorbells are looked at, and nothing is asked for by message.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "model/core.hpp"
#include "model/hca_server/store_queue.hpp"
#include "model/hca_server/uplink.hpp"
#include "model/model.hpp"
#include "model/vendor_gateway.hpp"
#include "model/vfio_user/config_space.hpp"
#include "model/vfio_user/server.hpp"

namespace portcullis::model {

/// Who drives a function.
enum class Owner : std::uint8_t {
  Guest,    // a virtual machine: every store to the BAR is a message, memory may be behind messages
  Process,  // of this host: maps the BAR and shares its memory; stores are seen as in process
};

class HcaFunction final : public vfio_user::Backend, private RemoteMemory {
 public:
  static constexpr std::uint32_t kVectors = 64;

  /// As Model::create; the clock is the wall's. What the port sends to others goes to `channels`,
  /// what comes from there to the port or to another of them (Uplink); none: nobody else is on the
  /// wire. InvalidArgument: more than one on InfiniBand.
  [[nodiscard]] static Result<std::unique_ptr<HcaFunction>> create(Options options,
                                                                   Uplink::Channels channels = {},
                                                                   Owner owner = Owner::Guest);
  HcaFunction(const HcaFunction&) = delete;
  HcaFunction& operator=(const HcaFunction&) = delete;
  ~HcaFunction() override = default;

  /// Who takes interrupts and message DMA from now on; null: nobody.
  void attach(vfio_user::Server* client) noexcept { client_ = client; }
  /// Takes what came over the channel and runs what is due now. True: there is more, and the client
  /// should be looked at first.
  bool serve();
  /// Stores to the BAR wait for serve(): no other message should be looked at before.
  [[nodiscard]] bool has_stores() const noexcept { return !stores_.empty(); }
  /// What of its wire to wait for (poll() passes over a -1).
  [[nodiscard]] std::vector<pollfd> wire_waits() const;
  [[nodiscard]] Census census() const { return core_->census(); }
  [[nodiscard]] Counters counters() const { return core_->counters; }

  /// Null: nobody hears.
  void observe_dma(DmaObserver* observer) noexcept { core_->dma.set_observer(observer); }

  [[nodiscard]] std::uint64_t region_bytes(std::uint32_t region) const override;
  [[nodiscard]] int region_file(std::uint32_t region) const override;
  [[nodiscard]] std::uint32_t interrupts(std::uint32_t index) const override;
  void read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to) override;
  void write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) override;
  [[nodiscard]] Result<void> mapped(const vfio_user::GuestRange& range) override;
  void unmapped(const vfio_user::GuestRange& range) override;
  void reset() override;
  [[nodiscard]] bool has_room() const override { return stores_.has_room(); }

 private:
  HcaFunction(std::unique_ptr<Core> core, const Options& options, std::unique_ptr<Uplink> uplink,
              UniqueFd bar_file);
  [[nodiscard]] std::optional<std::uint32_t> gateway_register(std::uint32_t region,
                                                              std::uint64_t offset,
                                                              std::size_t bytes) const;
  void read_config(std::uint64_t offset, std::span<std::byte> to);
  void write_config(std::uint64_t offset, std::span<const std::byte> from);
  void lose_link_if_due();
  void note_config_access();
  void interrupt(std::uint32_t vector) noexcept;
  // Guest memory that came without a file.
  [[nodiscard]] bool read(Iova from, std::span<std::byte> to) noexcept override;
  [[nodiscard]] bool write(Iova to, std::span<const std::byte> from) noexcept override;

  UniqueFd bar_file_;  // of a process's
  std::unique_ptr<Core> core_;
  std::unique_ptr<Uplink> uplink_;
  vfio_user::ConfigSpace config_;
  std::optional<VendorGateway> gateway_;  // none: there is no such capability
  StoreQueue stores_;
  vfio_user::Server* client_ = nullptr;
  std::optional<std::uint64_t> quiet_since_ns_;  // while the firmware waits for its link to go
  bool serving_ = false;
  bool reset_due_ = false;
};

}  // namespace portcullis::model
