// SPDX-License-Identifier: BSD-3-Clause
#include "devx/libmlx5.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "base/device.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/view.hpp"

namespace portcullis::devx {
namespace {

using Context = std::unique_ptr<ibv_context, decltype([](ibv_context* context) {
                                  static_cast<void>(ibv_close_device(context));
                                })>;
using DeviceList =
    std::unique_ptr<ibv_device*[], decltype([](ibv_device** list) { ibv_free_device_list(list); })>;

using EventChannel =
    std::unique_ptr<mlx5dv_devx_event_channel, decltype([](mlx5dv_devx_event_channel* channel) {
                      mlx5dv_devx_destroy_event_channel(channel);
                    })>;

std::string meaning(int error) { return std::generic_category().message(error); }

/// libmlx5 leaves errno where it returns a pointer, and never as 0.
int last_error() noexcept { return errno == 0 ? EIO : errno; }

class Mlx5Object final : public Object {
 public:
  Mlx5Object(mlx5dv_devx_obj* object, mlx5dv_devx_event_channel* events) noexcept
      : object_(object), events_(events) {}
  Mlx5Object(const Mlx5Object&) = delete;
  Mlx5Object& operator=(const Mlx5Object&) = delete;
  ~Mlx5Object() override {
    if (object_ != nullptr) static_cast<void>(mlx5dv_devx_obj_destroy(object_));
  }

  int modify(std::span<const std::byte> in, std::span<std::byte> out) override {
    return mlx5dv_devx_obj_modify(object_, in.data(), in.size(), out.data(), out.size());
  }
  int query(std::span<const std::byte> in, std::span<std::byte> out) override {
    return mlx5dv_devx_obj_query(object_, in.data(), in.size(), out.data(), out.size());
  }
  int subscribe(std::span<const std::uint16_t> event_types) override {
    std::vector<std::uint16_t> types(event_types.begin(), event_types.end());
    constexpr std::uint64_t kNoCookie = 0;  // the event itself names the object
    errno = 0;
    const int error = mlx5dv_devx_subscribe_devx_event(
        events_, object_, static_cast<std::uint16_t>(types.size() * sizeof(types[0])), types.data(),
        kNoCookie);
    return error == 0 ? 0 : last_error();
  }
  int destroy() override {
    const int error = mlx5dv_devx_obj_destroy(object_);
    if (error == 0) object_ = nullptr;
    return error;
  }
  void leave() noexcept override { object_ = nullptr; }
  [[nodiscard]] mlx5dv_devx_obj* handle() const noexcept { return object_; }

 private:
  mlx5dv_devx_obj* object_;
  mlx5dv_devx_event_channel* events_;
};

/// struct mlx5dv_flow_match_parameters: its length, and the device's layout behind it.
class MatchParameters {
 public:
  explicit MatchParameters(std::span<const std::byte> layout)
      : words_(1 + (layout.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)) {
    get()->match_sz = layout.size();
    std::ranges::copy(layout, std::as_writable_bytes(std::span(words_).subspan(1)).begin());
  }
  [[nodiscard]] mlx5dv_flow_match_parameters* get() noexcept {
    return static_cast<mlx5dv_flow_match_parameters*>(static_cast<void*>(words_.data()));
  }

 private:
  static_assert(sizeof(mlx5dv_flow_match_parameters) == sizeof(std::uint64_t));
  std::vector<std::uint64_t> words_;
};

class Mlx5Rule final : public Rule {
 public:
  explicit Mlx5Rule(mlx5dv_flow_matcher* matcher) noexcept : matcher_(matcher) {}
  Mlx5Rule(const Mlx5Rule&) = delete;
  Mlx5Rule& operator=(const Mlx5Rule&) = delete;
  ~Mlx5Rule() override { static_cast<void>(destroy()); }

  [[nodiscard]] int lead(std::span<const std::byte> value, mlx5dv_devx_obj* table) {
    MatchParameters parameters(value);
    mlx5dv_flow_action_attr to{};
    to.type = MLX5DV_FLOW_ACTION_DEST_DEVX;
    to.obj = table;
    errno = 0;
    flow_ = mlx5dv_create_flow(matcher_, parameters.get(), 1, &to);
    return flow_ == nullptr ? last_error() : 0;
  }
  /// The matcher is of the kernel's memory alone; one that is in use would say EBUSY.
  int destroy() override {
    if (flow_ != nullptr)
      if (const int error = ibv_destroy_flow(flow_); error != 0) return error;
    flow_ = nullptr;
    if (matcher_ == nullptr) return 0;
    const int error = mlx5dv_destroy_flow_matcher(matcher_);
    if (error == 0) matcher_ = nullptr;
    return error;
  }
  void leave() noexcept override {
    flow_ = nullptr;
    matcher_ = nullptr;
  }

 private:
  mlx5dv_flow_matcher* matcher_;
  ibv_flow* flow_ = nullptr;
};

class Mlx5UarPage final : public UarPage {
 public:
  explicit Mlx5UarPage(mlx5dv_devx_uar* uar) noexcept : uar_(uar) {}
  Mlx5UarPage(const Mlx5UarPage&) = delete;
  Mlx5UarPage& operator=(const Mlx5UarPage&) = delete;
  ~Mlx5UarPage() override { mlx5dv_devx_free_uar(uar_); }

  [[nodiscard]] std::uint32_t index() const noexcept override { return uar_->page_id; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override {
    return {static_cast<std::byte*>(uar_->base_addr), kPageBytes};
  }

 private:
  mlx5dv_devx_uar* uar_;
};

class Mlx5Provider final : public Provider {
 public:
  Mlx5Provider(Context context, EventChannel events, std::string firmware_version) noexcept
      : context_(std::move(context)),
        events_(std::move(events)),
        firmware_version_(std::move(firmware_version)) {}

  [[nodiscard]] std::string firmware_version() const override { return firmware_version_; }

  int create(std::span<const std::byte> in, std::span<std::byte> out,
             std::unique_ptr<Object>& object) override {
    errno = 0;
    auto* const made =
        mlx5dv_devx_obj_create(context_.get(), in.data(), in.size(), out.data(), out.size());
    if (made == nullptr) return last_error();
    object = std::make_unique<Mlx5Object>(made, events_.get());
    return 0;
  }
  int general(std::span<const std::byte> in, std::span<std::byte> out) override {
    return mlx5dv_devx_general_cmd(context_.get(), in.data(), in.size(), out.data(), out.size());
  }

  int lead(const Match& match, Object& table, std::unique_ptr<Rule>& rule) override {
    const auto* const to = dynamic_cast<const Mlx5Object*>(&table);
    if (to == nullptr || to->handle() == nullptr) return EINVAL;
    MatchParameters mask(match.mask);
    mlx5dv_flow_matcher_attr wanted{};
    wanted.type = IBV_FLOW_ATTR_NORMAL;
    wanted.priority = 0;  // before every other rule of a process
    wanted.match_criteria_enable = match.criteria;
    wanted.match_mask = mask.get();
    wanted.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE;
    wanted.ft_type = MLX5DV_FLOW_TABLE_TYPE_RDMA_RX;
    errno = 0;
    auto* const matcher = mlx5dv_create_flow_matcher(context_.get(), &wanted);
    if (matcher == nullptr) return last_error();
    auto made = std::make_unique<Mlx5Rule>(matcher);
    if (const int error = made->lead(match.value, to->handle()); error != 0) return error;
    rule = std::move(made);
    return 0;
  }

  Result<UmemId> register_memory(std::span<std::byte> memory) override {
    errno = 0;
    auto* const umem =
        mlx5dv_devx_umem_reg(context_.get(), memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    if (umem == nullptr)
      return fail(last_error() == ENOMEM ? Errc::OutOfResources : Errc::System,
                  fmt::format("{} bytes as a umem: {} (ulimit -l must cover what is registered)",
                              memory.size(), meaning(last_error())));
    const std::scoped_lock lock(umems_mutex_);
    umems_.insert_or_assign(umem->umem_id, umem);
    return UmemId{umem->umem_id};
  }
  Result<void> deregister_memory(UmemId umem) override {
    std::unique_lock lock(umems_mutex_);
    const auto found = umems_.find(static_cast<std::uint32_t>(umem));
    if (found == umems_.end())
      return fail(Errc::NotFound,
                  fmt::format("no umem {} was registered here", static_cast<std::uint32_t>(umem)));
    mlx5dv_devx_umem* const registered = found->second;
    umems_.erase(found);  // its number is given anew as soon as the kernel has it back
    lock.unlock();
    if (const int error = mlx5dv_devx_umem_dereg(registered); error != 0) {
      lock.lock();
      umems_.emplace(static_cast<std::uint32_t>(umem), registered);
      return fail(Errc::System, fmt::format("umem {} stays: {}", static_cast<std::uint32_t>(umem),
                                            meaning(error)));
    }
    if (is_taken_away())
      return fail(Errc::System,
                  fmt::format("umem {}: the kernel driver has taken the device away, and says ok "
                              "of what the device did not give up too",
                              static_cast<std::uint32_t>(umem)));
    return {};
  }

  Result<void> check_unmap_is_final() override {
    const std::filesystem::path file =
        std::filesystem::path(context_->device->ibdev_path) / "device/iommu_group/type";
    std::string type;
    std::ifstream(file) >> type;
    if (type == "DMA") return {};  // IOMMU_DOMAIN_DMA; DMA-FQ flushes later (iommu.c of Linux)
    return fail(Errc::Unsupported,
                fmt::format("an unmap does not keep this NIC from memory: its IOMMU domain is {}, "
                            "DMA expected (iommu.strict=1)",
                            type.empty() ? "none" : type));
  }

  Result<std::unique_ptr<UarPage>> allocate_uar() override {
    auto* uar = mlx5dv_devx_alloc_uar(context_.get(), MLX5DV_UAR_ALLOC_TYPE_BF);
    // Write combining is not to be had everywhere; the doorbells are the same.
    if (uar == nullptr) uar = mlx5dv_devx_alloc_uar(context_.get(), MLX5DV_UAR_ALLOC_TYPE_NC);
    if (uar == nullptr) return fail(Errc::System, "a UAR by DevX: " + meaning(last_error()));
    return std::make_unique<Mlx5UarPage>(uar);
  }

  Result<std::uint8_t> eqn() override {
    std::uint32_t number = 0;
    if (const int error = mlx5dv_devx_query_eqn(context_.get(), 0, &number); error != 0)
      return fail(Errc::System, "the event queue of vector 0: " + meaning(error));
    if (number > UINT8_MAX)
      return fail(Errc::Malformed, fmt::format("event queue {}; 0 to 255 expected", number));
    return static_cast<std::uint8_t>(number);
  }

  bool next_event(std::span<std::byte, prm::kEqeBytes> eqe) override {
    // A header with the cookie, then what the device wrote.
    constexpr std::size_t kHeaderBytes = sizeof(mlx5dv_devx_async_event_hdr);
    alignas(mlx5dv_devx_async_event_hdr) std::array<std::byte, kHeaderBytes + prm::kEqeBytes> data;
    void* const room = data.data();
    const ssize_t bytes = mlx5dv_devx_get_event(
        events_.get(), static_cast<mlx5dv_devx_async_event_hdr*>(room), data.size());
    if (bytes < static_cast<ssize_t>(data.size())) return false;
    std::copy_n(data.begin() + kHeaderBytes, eqe.size(), eqe.begin());
    return true;
  }
  bool is_lost() override {
    ibv_async_event event{};
    while (!lost_ && ibv_get_async_event(context_.get(), &event) == 0) {
      lost_ = event.event_type == IBV_EVENT_DEVICE_FATAL;
      ibv_ack_async_event(&event);
    }
    return lost_;
  }

 private:
  /// Of a device that is removed every call but a destroy says EIO (rdma_lookup_get_uobject of
  /// core/rdma_core.c). A destroy waits for the kernel to have destroyed everything itself, and
  /// then says ok of what was not destroyed too (uobj_destroy; destroy_hw_idr_uobject: "just remove
  /// whatever you can"). A device in internal error says ENXIO, as Linux 6.12 was seen to.
  bool is_taken_away() {
    prm::Buffer<prm::query_issi_in> in;
    prm::Buffer<prm::query_issi_out> out;
    in.set<"opcode", prm::number(prm::Opcode::QUERY_ISSI)>();
    return general(in.all(), out.all()) == EIO;
  }

  Context context_;
  EventChannel events_;
  std::string firmware_version_;
  bool lost_ = false;
  std::mutex umems_mutex_;
  std::unordered_map<std::uint32_t, mlx5dv_devx_umem*> umems_;
};

Result<ibv_device*> find(const DeviceList& list, int count, const std::string& name) {
  std::vector<std::string> names;
  for (ibv_device* const device : std::span(list.get(), static_cast<std::size_t>(count))) {
    if (name == ibv_get_device_name(device)) return device;
    names.emplace_back(ibv_get_device_name(device));
  }
  return fail(
      Errc::NotFound,
      fmt::format("device \"{}\": the kernel has {}; model[,..] or a PCI address under VFIO "
                  "is accepted too",
                  name,
                  names.empty() ? "no RDMA device"
                                : fmt::format("the RDMA devices {}", fmt::join(names, ", "))));
}

/// A read of it says EAGAIN when there is nothing.
Result<void> never_wait(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return fail(Errc::System, "events of an RDMA device: " + meaning(last_error()));
}

}  // namespace

Result<std::unique_ptr<Provider>> open_libmlx5(const std::string& name) {
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  PORTCULLIS_TRY_ASSIGN(ibv_device* const device, find(list, list ? count : 0, name));
  if (!mlx5dv_is_supported(device))
    return fail(Errc::Unsupported, fmt::format("RDMA device \"{}\" is no mlx5", name));
  mlx5dv_context_attr attributes{.flags = MLX5DV_CONTEXT_FLAGS_DEVX, .comp_mask = 0};
  errno = 0;
  Context context(mlx5dv_open_device(device, &attributes));
  if (!context)
    return fail(last_error() == EPERM ? Errc::System : Errc::Unsupported,
                fmt::format("RDMA device \"{}\" with DevX: {}{}", name, meaning(last_error()),
                            last_error() == EPERM ? "; old kernels want CAP_NET_RAW" : ""));
  PORTCULLIS_TRY(never_wait(context->async_fd));
  EventChannel events(
      mlx5dv_devx_create_event_channel(context.get(), mlx5dv_devx_create_event_channel_flags{}));
  if (!events)
    return fail(Errc::Unsupported,
                fmt::format("RDMA device \"{}\": an event channel by DevX: {}; "
                            "a kernel with DevX events, newer than July 2019, expected",
                            name, meaning(last_error())));
  PORTCULLIS_TRY(never_wait(events->fd));
  ibv_device_attr told{};
  if (const int error = ibv_query_device(context.get(), &told); error != 0)
    return fail(Errc::System, fmt::format("RDMA device \"{}\": {}", name, meaning(error)));
  return std::make_unique<Mlx5Provider>(std::move(context), std::move(events), told.fw_ver);
}

}  // namespace portcullis::devx
