// SPDX-License-Identifier: BSD-3-Clause
//
// A function that another process of this host has in software (hca-server --shm PATH): asked for
// what VFIO is asked for, by the messages of vfio-user, with BAR0 mapped and all DMA memory shared.
// Hardware and traffic so outlive the driver, and whoever comes next finds the function reset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/config_access.hpp"
#include "base/device.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "model/vfio_user/connection.hpp"
#include "pmd/iova_allocator.hpp"

namespace portcullis::attach {

/// The messages: one is asked and answered at a time, from any thread.
class ShmLink {
 public:
  /// NotFound where nobody listens, System, Timeout.
  [[nodiscard]] static Result<std::unique_ptr<ShmLink>> connect(const std::string& path);

  struct Answer {
    std::uint32_t error = 0;  // errno
    std::vector<std::byte> payload;
    std::vector<UniqueFd> files;
  };
  /// DeviceGone when the server went, Timeout when it does not answer. Where the asker's time is
  /// bounded (HostPatience) the answer may come later and is thrown away; until then nothing else
  /// is asked. Without an answer in kPatienceMs the server is given up.
  [[nodiscard]] Result<Answer> ask(model::vfio_user::Command command,
                                   std::span<const std::byte> payload,
                                   std::span<const int> files = {});
  /// The same, with any errno an error.
  [[nodiscard]] Result<Answer> require(model::vfio_user::Command command,
                                       std::span<const std::byte> payload,
                                       std::span<const int> files = {});
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// DeviceGone once the server has gone, or was given up; sends nothing.
  [[nodiscard]] Result<void> condition();

  /// What an answer may take.
  static constexpr int kPatienceMs = 5'000;

 private:
  /// An answer that came too late for who asked.
  struct Owed {
    std::uint16_t id = 0;
    model::vfio_user::Command command = {};
    model::vfio_user::Deadline until;
  };

  ShmLink(std::string name, UniqueFd socket)
      : name_(std::move(name)), connection_(std::move(socket)) {}
  [[nodiscard]] Result<void> agree();
  [[nodiscard]] Result<void> send(model::vfio_user::Command command, std::uint16_t id,
                                  std::span<const std::byte> payload, std::span<const int> files,
                                  const model::vfio_user::Deadline& deadline);
  [[nodiscard]] Result<model::vfio_user::Message> take_answer(
      const Owed& asked, const model::vfio_user::Deadline& deadline);
  [[nodiscard]] Result<void> settle_owed();
  [[nodiscard]] bool has_news(int most_ms) const;
  [[nodiscard]] tl::unexpected<Error> give_up(Errc code, const std::string& why);

  std::string name_;  // "shm PATH"
  model::vfio_user::Connection connection_;
  std::mutex one_at_a_time_;
  std::uint16_t next_id_ = 1;
  std::optional<Owed> owed_;
  std::string gone_why_;  // empty: it has not
};

/// Memory that is mapped becomes part of one file, which the server maps too, and is this process's
/// alone again when it is unmapped. An IOVA says where in the file.
class ShmDmaSpace final : public DmaSpace {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ShmDmaSpace>> create(ShmLink& link);

  [[nodiscard]] Result<Iova> map(std::span<std::byte> memory) override;
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes) override;
  [[nodiscard]] Result<void> retire(Iova iova, std::size_t bytes) override;

 private:
  ShmDmaSpace(ShmLink& link, UniqueFd file) noexcept;
  [[nodiscard]] Result<void> tell_mapped(Iova iova, std::size_t bytes);
  /// False: the device has it no longer, but the place may hold bytes, and is nobody's again.
  [[nodiscard]] Result<bool> take_away(Iova iova, std::size_t bytes);

  ShmLink* link_;
  UniqueFd file_;
  std::mutex one_at_a_time_;
  pmd::IovaAllocator iovas_;
  std::unordered_map<Iova, std::span<std::byte>> mapped_;
};

class ShmFunction final : public PciFunction, public ConfigAccess {
 public:
  /// NotFound where nobody listens at `path`, Busy where the function has an owner, Unsupported
  /// for a server that shares no BAR, System, Timeout. Where its last owner has just gone, waits
  /// until it is reset.
  [[nodiscard]] static Result<std::unique_ptr<ShmFunction>> attach(const std::string& path);
  ~ShmFunction() override;

  /// Valid as long as this.
  [[nodiscard]] Device device() noexcept;
  /// DeviceGone once the server has gone, or was given up.
  [[nodiscard]] Result<void> condition() { return link_->condition(); }

  [[nodiscard]] std::uint16_t vendor_id() const override { return vendor_id_; }
  [[nodiscard]] std::uint16_t device_id() const override { return device_id_; }
  [[nodiscard]] Result<void> set_bus_master(bool on) override;
  [[nodiscard]] Result<void> reset() override;
  [[nodiscard]] Result<std::uint32_t> read_config_dword(std::uint32_t offset) override;
  [[nodiscard]] Result<void> write_config_dword(std::uint32_t offset, std::uint32_t value) override;

 private:
  explicit ShmFunction(std::unique_ptr<ShmLink> link) : link_(std::move(link)) {}
  [[nodiscard]] Result<void> map_bar();
  [[nodiscard]] Result<void> read_ids();
  template <class Value>
  [[nodiscard]] Result<Value> read_config(std::uint64_t offset);
  template <class Value>
  [[nodiscard]] Result<void> write_config(std::uint64_t offset, Value value);

  std::unique_ptr<ShmLink> link_;
  std::unique_ptr<ShmDmaSpace> dma_;
  std::span<std::byte> bar_;
  std::uint16_t vendor_id_ = 0;
  std::uint16_t device_id_ = 0;
};

}  // namespace portcullis::attach
