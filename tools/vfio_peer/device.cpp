// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "prm/cmd_interface.hpp"
#include "prm/doorbell.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t round_up(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::string message(int error) {
  return error == 0 ? "no reason given" : std::generic_category().message(error);
}

Error refused(std::span<const std::byte> in, std::span<const std::byte> out) {
  const auto asked = prm::ConstView<prm::cmd_in>::at(in);
  const auto answer = prm::ConstView<prm::cmd_out>::at(out);
  const auto opcode = static_cast<std::uint16_t>(asked.get<"opcode">());
  const auto status = static_cast<std::uint8_t>(answer.get<"status">());
  const CommandFault fault{opcode, static_cast<std::uint16_t>(asked.get<"op_mod">()), 0, status,
                           answer.get<"syndrome">()};
  return {Errc::CommandFailed,
          fmt::format("{}: status {} ({:#x}), syndrome {:#x}", prm::name(prm::Opcode{opcode}),
                      prm::name(prm::CommandStatus{status}), status, fault.syndrome),
          fault};
}

}  // namespace

Memory::Memory(std::size_t bytes)
    : size_(round_up(bytes)), at_(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, size_))) {
  std::memset(at_.get(), 0, size_);
}

std::uint64_t Memory::address() const noexcept { return std::bit_cast<std::uintptr_t>(at_.get()); }

void Memory::Free::operator()(std::byte* at) const noexcept {
  std::free(at);
}  // NOLINT(*-no-malloc)

Result<std::unique_ptr<Device>> Device::open(const std::string& bdf) {
  mlx5dv_vfio_context_attr attributes{};
  attributes.pci_name = bdf.c_str();
  errno = 0;
  ibv_device** const list = mlx5dv_get_vfio_device_list(&attributes);
  if (list == nullptr)
    return fail(Errc::System,
                fmt::format("{}: the provider does not take it: {}", bdf, message(errno)));
  std::unique_ptr<Device> device(new Device);
  errno = 0;
  device->context_.reset(ibv_open_device(list[0]));
  const int error = errno;
  ibv_free_device_list(list);
  if (device->context_ == nullptr)
    return fail(Errc::System,
                fmt::format("{}: the provider cannot bring it up: {}", bdf, message(error)));
  PORTCULLIS_TRY(device->take_basics());
  return device;
}

Result<void> Device::take_basics() {
  pd_.reset(ibv_alloc_pd(context_.get()));
  if (pd_ == nullptr) return fail(Errc::System, "ALLOC_PD: " + message(errno));
  mlx5dv_pd number{};
  mlx5dv_obj object{};
  object.pd.in = pd_.get();
  object.pd.out = &number;
  if (const int error = mlx5dv_init_obj(&object, MLX5DV_OBJ_PD); error != 0)
    return fail(Errc::System, "mlx5dv_init_obj of the PD: " + message(error));
  pdn_ = number.pdn;
  constexpr std::uint32_t kNonCached = 1;  // _MLX5DV_UAR_ALLOC_TYPE_NC, all that VFIO has
  uar_.reset(mlx5dv_devx_alloc_uar(context_.get(), kNonCached));
  if (uar_ == nullptr) return fail(Errc::System, "ALLOC_UAR: " + message(errno));
  return {};
}

Result<void> Device::execute(std::span<const std::byte> in, std::span<std::byte> out) {
  const int error =
      mlx5dv_devx_general_cmd(context_.get(), in.data(), in.size(), out.data(), out.size());
  if (prm::ConstView<prm::cmd_out>::at(out).get<"status">() != 0)
    return tl::unexpected<Error>(refused(in, out));
  if (error != 0) return fail(Errc::System, "mlx5dv_devx_general_cmd: " + message(error));
  return {};
}

Result<void> Device::process_events() {
  const int error = mlx5dv_vfio_process_events(context_.get());
  if (error != 0) return fail(Errc::DeviceFailed, "mlx5dv_vfio_process_events: " + message(error));
  return {};
}

Result<Owned<mlx5dv_devx_umem>> Device::register_memory(const Memory& memory) {
  Owned<mlx5dv_devx_umem> umem(mlx5dv_devx_umem_reg(context_.get(), memory.bytes().data(),
                                                    memory.bytes().size(), IBV_ACCESS_LOCAL_WRITE));
  if (umem == nullptr) return fail(Errc::System, "CREATE_UMEM: " + message(errno));
  return umem;
}

Result<Owned<ibv_mr>> Device::create_key(const Memory& memory) {
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  Owned<ibv_mr> key(ibv_reg_mr(pd_.get(), memory.bytes().data(), memory.bytes().size(), kRights));
  if (key == nullptr) return fail(Errc::System, "CREATE_MKEY: " + message(errno));
  return key;
}

Result<void> Device::destroy_key(Owned<ibv_mr>& key) {
  prm::Buffer<prm::destroy_mkey_in> in;
  in.set<"opcode", prm::Opcode::DESTROY_MKEY>().put<"mkey_index">(key->lkey >> 8);
  PORTCULLIS_TRY(run<prm::destroy_mkey_out>(in));
  static_cast<void>(key.release());  // the provider would destroy it again
  return {};
}

std::byte* Device::uar_page() const noexcept { return static_cast<std::byte*>(uar_->base_addr); }

prm::Registers<prm::mlx5_init_seg> Device::registers() const {
  // uar2iova of mlx5_vfio.c: the page stands at its number in the mapping of BAR0.
  std::byte* const bar = uar_page() - prm::uar_offset(uar());
  return prm::Registers<prm::mlx5_init_seg>(std::span(bar, prm::mlx5_init_seg::bytes));
}

std::string Device::firmware() const {
  const auto all = registers();
  const std::uint32_t revision = all.get<"fw_rev">();
  return fmt::format("{}.{}.{}", revision & 0xffff, revision >> 16,
                     all.get<"cmdif_rev_fw_sub">() & 0xffff);
}

std::string Device::provider() {
  Dl_info info{};
  const auto* const function = std::bit_cast<const void*>(&mlx5dv_get_vfio_device_list);
  if (::dladdr(function, &info) == 0) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored).filename().string();
}

}  // namespace portcullis::tools::vfio_peer
