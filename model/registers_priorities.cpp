// SPDX-License-Identifier: BSD-3-Clause
//
// Registers that say what priorities are to an Ethernet port: receive buffers and who has which,
// what a frame's priority is read from, traffic classes. And two of the port as such: which
// registers there are, and forward error correction.
#include <algorithm>
#include <array>

#include "model/core.hpp"
#include "model/register_access.hpp"
#include "model/transport/checksum.hpp"
#include "prm/ethernet_registers.hpp"
#include "prm/module_registers.hpp"

namespace portcullis::model::registers {
namespace {

template <class L>
prm::ConstView<L> element(std::span<const std::byte> list, std::size_t index) {
  return prm::ConstView<L>::at(list, index * L::bytes);
}
template <class L>
prm::View<L> element_to_fill(std::span<std::byte> list, std::size_t index) {
  return prm::View<L>::at(list, index * L::bytes);
}

bool is_ethernet(const Core& core) { return core.port.type == PortType::Ethernet; }

/// Thresholds of a buffer without loss lie in it, and the two of them in order.
bool is_sound(const PortSettings::Buffer& buffer) {
  return buffer.is_lossy || (buffer.at.xon <= buffer.at.xoff && buffer.at.xoff <= buffer.size);
}

/// Registers that list what there is: of their first groups, and read.
template <class L>
Verdict check_list(const Core& core, const RegisterAccess& access) {
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  if (access.write) return bad_param(kReadOnly);
  const auto in = prm::ConstView<L>::at(access.in);
  if (in.template get<"feature_group">() != 0 || in.template get<"access_reg_group">() != 0)
    return bad_param(kNoSuchGroup);
  return {};
}

}  // namespace

/// The last two buffers, which are not of the network, have no size here.
Verdict pbmc(Core& core, const RegisterAccess& access) {
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::pbmc_reg>(access); !bad.ok()) return bad;
  PortSettings& port = core.port;
  if (access.write) {
    const auto in = prm::ConstView<prm::pbmc_reg>::at(access.in);
    std::array<PortSettings::Buffer, PortSettings::kBuffers> wanted;
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto one = element<prm::bufferx_reg>(in.bytes<"buffer">(), i);
      wanted[i] = {one.get<"lossy">() != 0,
                   static_cast<std::uint16_t>(one.get<"size">()),
                   {static_cast<std::uint16_t>(one.get<"xoff_threshold">()),
                    static_cast<std::uint16_t>(one.get<"xon_threshold">())}};
      total += wanted[i].size;
      if (!is_sound(wanted[i])) return bad_param(kBadBuffer);
    }
    const std::uint32_t quanta = in.get<"xoff_timer_value">(), refresh = in.get<"xoff_refresh">();
    if (total > PortSettings::kBufferCells || refresh > quanta) return bad_param(kBadBuffer);
    port.buffers = wanted;
    // 0 would be no pause at all: what it was stays.
    if (quanta != 0) port.pause_quanta = static_cast<std::uint16_t>(quanta);
    if (quanta != 0) port.pause_refresh = static_cast<std::uint16_t>(refresh);
  }
  const auto out = prm::View<prm::pbmc_reg>::at(access.out);
  out.put<"xoff_timer_value">(port.pause_quanta);
  out.put<"xoff_refresh">(port.pause_refresh);
  out.put<"port_buffer_size">(PortSettings::kBufferCells);
  for (std::size_t i = 0; i < port.buffers.size(); ++i) {
    const auto one = element_to_fill<prm::bufferx_reg>(out.bytes<"buffer">(), i);
    static_cast<void>(one.try_set<"lossy">(port.buffers[i].is_lossy ? 1 : 0));
    one.put<"size">(port.buffers[i].size);
    one.put<"xoff_threshold">(port.buffers[i].at.xoff);
    one.put<"xon_threshold">(port.buffers[i].at.xon);
  }
  return {};
}

/// A priority is moved where pm has its bit, the untagged where um is set (mlx5e_port_set_priority2
/// buffer of mlx5/core/en/port.c sets both).
Verdict pptb(Core& core, const RegisterAccess& access) {
  constexpr unsigned kBits = 4;
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::pptb_reg>(access); !bad.ok()) return bad;
  PortSettings& port = core.port;
  if (access.write) {
    const auto in = prm::ConstView<prm::pptb_reg>::at(access.in);
    auto wanted = port.priority_buffer;
    for (std::size_t i = 0; i < kPriorities; ++i)
      if ((in.get<"pm">() >> i & 1) != 0)
        wanted[i] = static_cast<std::uint8_t>(in.get<"prio_x_buff">() >> i * kBits & 0xf);
    const std::uint32_t untagged =
        in.get<"um">() != 0 ? in.get<"untagged_buff">() : port.untagged_buffer;
    if (untagged >= PortSettings::kBuffers ||
        std::ranges::any_of(wanted, [](auto buffer) { return buffer >= PortSettings::kBuffers; }))
      return bad_param(kBadBuffer);
    // What waits stands where it stands: a buffer is moved when it is empty.
    core.transport->forget_buffer();
    port.priority_buffer = wanted;
    port.untagged_buffer = static_cast<std::uint8_t>(untagged);
  }
  std::uint32_t list = 0;
  for (std::size_t i = 0; i < kPriorities; ++i)
    list |= std::uint32_t{port.priority_buffer[i]} << i * kBits;
  const auto out = prm::View<prm::pptb_reg>::at(access.out);
  out.put<"prio_x_buff">(list);
  out.put<"pm">(std::uint8_t{0xff});
  static_cast<void>(out.try_set<"untagged_buff">(port.untagged_buffer));
  return {};
}

Verdict qpts(Core& core, const RegisterAccess& access) {
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::qpts_reg>(access); !bad.ok()) return bad;
  if (access.write) {
    const std::uint32_t trust = prm::ConstView<prm::qpts_reg>::at(access.in).get<"trust_state">();
    if (trust != PortSettings::kTrustPcp && trust != PortSettings::kTrustDscp)
      return bad_param(kNotOffered);
    core.port.trust = static_cast<std::uint8_t>(trust);
  }
  static_cast<void>(
      prm::View<prm::qpts_reg>::at(access.out).try_set<"trust_state">(core.port.trust));
  return {};
}

/// An entry is written where its `e` is set.
Verdict qpdpm(Core& core, const RegisterAccess& access) {
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::qpdpm_reg>(access); !bad.ok()) return bad;
  auto wanted = core.port.dscp_priority;
  const auto in = prm::ConstView<prm::qpdpm_reg>::at(access.in).bytes<"dscp">();
  const auto out = prm::View<prm::qpdpm_reg>::at(access.out).bytes<"dscp">();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t at = i * sizeof(std::uint16_t);
    const std::uint16_t entry = load_be16(&in[at]);
    if (access.write && (entry & prm::kDscpWrite) != 0)
      wanted[i] = static_cast<std::uint8_t>(entry & prm::kDscpPriority);
    if (wanted[i] >= kPriorities) return bad_param(kBadPriority);
    store_be16(&out[at], wanted[i]);
  }
  core.port.dscp_priority = wanted;
  return {};
}

/// Linux names no port (mlx5_set_port_tc_group and _tc_bw_alloc of mlx5/core/port.c). A field is
/// written where its bit is set: g, b, r.
Verdict qetcr(Core& core, const RegisterAccess& access) {
  constexpr std::uint32_t kWhole = 100;
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  auto wanted = core.port.classes;
  const auto in = prm::ConstView<prm::qetc_reg>::at(access.in);
  const auto out = prm::View<prm::qetc_reg>::at(access.out);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto one = element<prm::ets_tcn_config_reg>(in.bytes<"tc_configuration">(), i);
    if (access.write && one.get<"g">() != 0)
      wanted[i].group = static_cast<std::uint8_t>(one.get<"group">());
    if (access.write && one.get<"b">() != 0)
      wanted[i].bandwidth = static_cast<std::uint8_t>(one.get<"bw_allocation">());
    if (access.write && one.get<"r">() != 0) {
      wanted[i].rate_units = static_cast<std::uint8_t>(one.get<"max_bw_units">());
      wanted[i].rate = static_cast<std::uint8_t>(one.get<"max_bw_value">());
    }
    if (wanted[i].bandwidth > kWhole) return bad_param(kBadShare);
    const auto now = element_to_fill<prm::ets_tcn_config_reg>(out.bytes<"tc_configuration">(), i);
    static_cast<void>(now.try_set<"group">(wanted[i].group));
    static_cast<void>(now.try_set<"bw_allocation">(wanted[i].bandwidth));
    static_cast<void>(now.try_set<"max_bw_units">(wanted[i].rate_units));
    now.put<"max_bw_value">(wanted[i].rate);
  }
  core.port.classes = wanted;
  return {};
}

/// Of the priority that it names; Linux writes it without a port (mlx5_set_port_prio_tc).
Verdict qtct(Core& core, const RegisterAccess& access) {
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  const auto in = prm::ConstView<prm::qtct_reg>::at(access.in);
  std::uint8_t& tclass = core.port.priority_class[in.get<"prio">()];
  if (access.write) tclass = static_cast<std::uint8_t>(in.get<"tclass">());
  const auto out = prm::View<prm::qtct_reg>::at(access.out);
  static_cast<void>(out.try_set<"prio">(in.get<"prio">()));
  static_cast<void>(out.try_set<"tclass">(tclass));
  return {};
}

/// The wire loses no bits that a code could mend: of enum mlx5e_fec_modes (no FEC 0, RS-FEC 2) both
/// may be asked for at the speed of the link, and left to it a port has none. It changes with the
/// next time that the link comes up.
Verdict pplm(Core& core, const RegisterAccess& access) {
  constexpr std::uint32_t kOffered = PortSettings::kNoFec | PortSettings::kReedSolomonFec;
  if (!is_ethernet(core)) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::pplm_reg>(access); !bad.ok()) return bad;
  if (access.write) {
    const auto in = prm::ConstView<prm::pplm_reg>::at(access.in);
    const std::uint32_t wanted = in.get<"fec_override_admin_100g">();
    if ((wanted & ~kOffered) != 0) return bad_param(kNotOffered);
    core.port.fec_admin = static_cast<std::uint8_t>(wanted);
  }
  const auto out = prm::View<prm::pplm_reg>::at(access.out);
  out.set<"fec_override_cap_100g", kOffered>();
  static_cast<void>(out.try_set<"fec_override_admin_100g">(core.port.fec_admin));
  static_cast<void>(out.try_set<"fec_mode_active">(core.port.link_up ? core.port.fec_active : 0U));
  return {};
}

/// Of group 0, the registers from 0x5000 on. Of the enhanced features the count of wrong ICRCs,
/// which mlx5_ib reads where it is there (mlx5_ib_query_ext_ppcnt_counters).
Verdict pcam(Core& core, const RegisterAccess& access) {
  constexpr unsigned kIcrcCounter = 18;  // rx_icrc_encapsulated_counter, from the end
  constexpr std::array kThere{
      prm::number(prm::RegisterId::PMTU),         prm::number(prm::RegisterId::PTYS),
      prm::number(prm::RegisterId::PAOS),         prm::number(prm::EthernetRegisterId::PFCC),
      prm::number(prm::RegisterId::PPCNT),        prm::number(prm::EthernetRegisterId::PPTB),
      prm::number(prm::EthernetRegisterId::PBMC), prm::number(prm::EthernetRegisterId::PPLR),
      prm::number(prm::EthernetRegisterId::PPLM), prm::number(prm::EthernetRegisterId::PCAM),
      prm::number(prm::ModuleRegisterId::PMLP),   prm::number(prm::ModuleRegisterId::PMAOS)};
  if (const Verdict bad = check_list<prm::pcam_reg>(core, access); !bad.ok()) return bad;
  const auto out = prm::View<prm::pcam_reg>::at(access.out);
  list(kThere, 0x5000, out.bytes<"port_access_reg_cap_mask">());
  set_bit(out.bytes<"feature_cap_mask">(), kIcrcCounter);
  return {};
}

/// Likewise those from 0x4000 on.
Verdict qcam(Core& core, const RegisterAccess& access) {
  constexpr std::array kThere{
      prm::number(prm::EthernetRegisterId::QPTS), prm::number(prm::EthernetRegisterId::QETCR),
      prm::number(prm::EthernetRegisterId::QTCT), prm::number(prm::EthernetRegisterId::QPDPM),
      prm::number(prm::EthernetRegisterId::QCAM)};
  if (const Verdict bad = check_list<prm::qcam_reg>(core, access); !bad.ok()) return bad;
  list(kThere, 0x4000, prm::View<prm::qcam_reg>::at(access.out).bytes<"qos_access_reg_cap_mask">());
  return {};
}

}  // namespace portcullis::model::registers
