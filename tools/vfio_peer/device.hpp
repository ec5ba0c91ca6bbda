// SPDX-License-Identifier: BSD-3-Clause
//
// A function as rdma-core's VFIO provider opens it: raw commands, registered memory, keys, the UAR.
// Everything the device sees goes through libmlx5; only the bytes of commands are made here.
#pragma once

#include <infiniband/mlx5dv.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "prm/init_segment.hpp"
#include "prm/view.hpp"

namespace portcullis::tools::vfio_peer {

/// Closes what libibverbs and libmlx5 opened.
struct Closer {
  void operator()(ibv_context* context) const noexcept { ibv_close_device(context); }
  void operator()(ibv_pd* pd) const noexcept { ibv_dealloc_pd(pd); }
  void operator()(mlx5dv_devx_uar* uar) const noexcept { mlx5dv_devx_free_uar(uar); }
  void operator()(mlx5dv_devx_umem* umem) const noexcept { mlx5dv_devx_umem_dereg(umem); }
  void operator()(ibv_mr* key) const noexcept { ibv_dereg_mr(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Closer>;

/// Zeroed memory on pages of its own.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {at_.get(), size_}; }
  [[nodiscard]] std::uint64_t address() const noexcept;

 private:
  struct Free {
    void operator()(std::byte* at) const noexcept;
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> at_;
};

class Device {
 public:
  /// Brings the function up. System with what the provider said.
  [[nodiscard]] static Result<std::unique_ptr<Device>> open(const std::string& bdf);

  /// One command and its answer. CommandFailed with opcode, status and syndrome by name.
  template <class Out, class In>
  [[nodiscard]] Result<prm::Buffer<Out>> run(const prm::Buffer<In>& in) {
    prm::Buffer<Out> out;
    if (in.overflow() != nullptr)
      return fail(Errc::InvalidArgument, std::string(in.overflow()) + ": value too wide");
    PORTCULLIS_TRY(execute(in.all(), out.all()));
    return out;
  }
  [[nodiscard]] Result<void> execute(std::span<const std::byte> in, std::span<std::byte> out);

  /// Health and page requests; the provider aborts the process when the health counter stands.
  [[nodiscard]] Result<void> process_events();

  [[nodiscard]] Result<Owned<mlx5dv_devx_umem>> register_memory(const Memory& memory);
  /// CREATE_MKEY for local and remote reads and writes; the provider maps the memory.
  [[nodiscard]] Result<Owned<ibv_mr>> create_key(const Memory& memory);
  /// DESTROY_MKEY as a command of its own. ibv_dereg_mr would unmap the memory too, and what a late
  /// DMA did would not be seen; so the mapping stays until the device is closed.
  [[nodiscard]] Result<void> destroy_key(Owned<ibv_mr>& key);

  [[nodiscard]] ibv_context* context() const noexcept { return context_.get(); }
  [[nodiscard]] std::uint32_t pd() const noexcept { return pdn_; }
  [[nodiscard]] std::uint32_t uar() const noexcept { return uar_->page_id; }
  [[nodiscard]] std::byte* uar_page() const noexcept;
  /// BAR0 as the provider mapped it: each read is trapped by the virtual machine.
  [[nodiscard]] prm::Registers<prm::mlx5_init_seg> registers() const;
  /// "16.35.4506".
  [[nodiscard]] std::string firmware() const;
  /// "libmlx5.so.1.24.44.0".
  [[nodiscard]] static std::string provider();

 private:
  Device() = default;
  [[nodiscard]] Result<void> take_basics();

  Owned<ibv_context> context_;
  Owned<ibv_pd> pd_;
  Owned<mlx5dv_devx_uar> uar_;
  std::uint32_t pdn_ = 0;
};

}  // namespace portcullis::tools::vfio_peer
