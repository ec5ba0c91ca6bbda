// SPDX-License-Identifier: BSD-3-Clause
#include "prm/command_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "prm/enums.hpp"
#include "prm/registry.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {
namespace {

static_assert(cmd_in::bytes == place<cmd_out, "command_output">.offset / 8,
              "a message without a layout is dwords from its ninth byte on");

using ByteSpan = std::span<const std::byte>;

/// Byte ranges up to this length are one number (a GID, a UUID); longer ones are shown in dwords.
constexpr std::size_t kOneNumberBytes = 16;
constexpr std::size_t kDwordBytes = 4;

enum class Side : std::uint8_t { Input, Output };

/// Layouts whose kernel names do not follow from the opcode's (mlx5_ifc.h).
struct Stem {
  Opcode opcode;
  std::string_view stem;
};
constexpr Stem kStems[] = {
    {Opcode::QP_2ERR, "qp_2err"},
    {Opcode::QP_2RST, "qp_2rst"},
    {Opcode::ACCESS_REG, "access_register"},
    {Opcode::SET_FLOW_TABLE_ENTRY, "set_fte"},
    {Opcode::QUERY_FLOW_TABLE_ENTRY, "query_fte"},
    {Opcode::DELETE_FLOW_TABLE_ENTRY, "delete_fte"},
};

/// Arrays that follow a layout: pas[][0x40] and the like of mlx5_ifc.h.
struct Tail {
  Opcode opcode;
  Side side;
  std::string_view name;
  std::size_t entry_bytes;
};
constexpr Tail kTails[] = {
    {Opcode::MANAGE_PAGES, Side::Input, "pas", 8},
    {Opcode::MANAGE_PAGES, Side::Output, "pas", 8},
    {Opcode::CREATE_EQ, Side::Input, "pas", 8},
    {Opcode::CREATE_CQ, Side::Input, "pas", 8},
    {Opcode::MODIFY_CQ, Side::Input, "pas", 8},
    {Opcode::QUERY_CQ, Side::Output, "pas", 8},
    {Opcode::CREATE_QP, Side::Input, "pas", 8},
    {Opcode::QUERY_QP, Side::Output, "pas", 8},
    {Opcode::CREATE_RQ, Side::Input, "ctx.wq.pas", 8},
    {Opcode::CREATE_MKEY, Side::Input, "klm_pas_mtt", 8},
    {Opcode::CREATE_UMEM, Side::Input, "umem.mtt", 8},
    {Opcode::SET_FLOW_TABLE_ENTRY, Side::Input, "flow_context.destination", 8},
    {Opcode::ALLOC_MODIFY_HEADER_CONTEXT, Side::Input, "actions", 8},
    {Opcode::QUERY_HCA_VPORT_GID, Side::Output, "gid", 8},
    {Opcode::MODIFY_NIC_VPORT_CONTEXT, Side::Input, "nic_vport_context.current_uc_mac_address", 8},
    {Opcode::QUERY_NIC_VPORT_CONTEXT, Side::Output, "nic_vport_context.current_uc_mac_address", 8},
};

/// A union of mlx5_ifc.h, resolved by what the command asks for.
struct Variant {
  std::string_view member;  // of a Bytes member, or the name of what follows the layout
  const LayoutInfo* layout = nullptr;
};

std::string stem_of(Opcode opcode) {
  const auto* found = std::ranges::find(kStems, opcode, &Stem::opcode);
  if (found != std::end(kStems)) return std::string(found->stem);
  std::string stem(name(opcode));
  std::ranges::transform(stem, stem.begin(), [](unsigned char c) { return std::tolower(c); });
  return stem;
}

const LayoutInfo* layout_named(std::string_view layout) {
  const auto* found = std::ranges::find(kLayouts, layout, &LayoutInfo::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

const LayoutInfo* layout_of(Opcode opcode, Side side) {
  return layout_named(stem_of(opcode) + (side == Side::Input ? "_in" : "_out"));
}

std::uint32_t dword_at(ByteSpan bytes, std::size_t offset) {
  std::array<std::byte, kDwordBytes> dword{};
  if (offset < bytes.size())
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                std::min(kDwordBytes, bytes.size() - offset), dword.begin());
  return detail::load_dword(dword.data());
}

template <class L, Name Path>
std::uint32_t field_or_zero(ByteSpan bytes) {
  constexpr Place p = place<L, Path>;
  const std::uint32_t dword = dword_at(bytes, detail::dword_byte<p>);
  return (dword >> detail::shift<p>)&static_cast<std::uint32_t>(widest(p.width));
}

Variant capability_of(std::uint16_t op_mod) {
  // The cap type stands above the max/cur bit (cap_op_mod).
  switch (static_cast<CapType>(op_mod >> 1)) {
    case CapType::GENERAL:
      return {"capability", &layout_info<cmd_hca_cap>};
    case CapType::FLOW_TABLE:
      return {"capability", &layout_info<flow_table_nic_cap>};
    case CapType::ATOMIC:
      return {"capability", &layout_info<atomic_caps>};
    case CapType::ROCE:
      return {"capability", &layout_info<roce_cap>};
    case CapType::DEV_MEM:
      return {"capability", &layout_info<device_mem_cap>};
    default:
      return {};
  }
}

Variant register_of(RegisterId id) {
  if (number(id) == number(ManagementRegisterId::MFRL))
    return {"register_data", &layout_info<mfrl_reg>};
  switch (id) {
    case RegisterId::HOST_ENDIANNESS:
      return {"register_data", &layout_info<register_host_endianness>};
    case RegisterId::PAOS:
      return {"register_data", &layout_info<paos_reg>};
    case RegisterId::PTYS:
      return {"register_data", &layout_info<ptys_reg>};
    case RegisterId::PMTU:
      return {"register_data", &layout_info<pmtu_reg>};
    case RegisterId::PVLC:
      return {"register_data", &layout_info<pvlc_reg>};
    default:
      return {};
  }
}

Variant variant_of(ByteSpan in) {
  switch (opcode_of(in)) {
    case Opcode::QUERY_HCA_CAP:
    case Opcode::SET_HCA_CAP:
      return capability_of(op_mod_of(in));
    case Opcode::ACCESS_REG:
      return register_of(RegisterId{
          static_cast<std::uint16_t>(field_or_zero<access_register_in, "register_id">(in))});
    default:
      return {};
  }
}

/// Collects the numbers of one message, and remembers which bits had a name.
class Walk {
 public:
  Walk(ByteSpan message, const Variant& variant, Detail detail)
      : message_(message), variant_(variant), detail_(detail) {
    named_.assign((message.size() + kDwordBytes - 1) / kDwordBytes, 0);
  }

  void members(std::span<const Member> list, const std::string& prefix, unsigned base_bit) {
    for (const Member& m : list) {
      const unsigned offset = base_bit + m.offset;
      if (m.kind == MemberKind::Reserved || offset / 8 >= message_.size()) continue;
      const std::string path = prefix + std::string(m.name);
      if (m.kind == MemberKind::Nested) {
        members({m.nested, m.nested_count}, path + ".", offset);
      } else if (m.kind == MemberKind::Field) {
        field(path, offset, m.width);
      } else if (variant_.layout != nullptr && variant_.member == m.name) {
        layout(*variant_.layout, path, offset);
      } else {
        range(path, offset / 8, m.width / 8);
      }
    }
  }

  /// Another layout at `offset` bits: "capability.cmd_hca_cap.log_max_qp".
  void layout(const LayoutInfo& inner, const std::string& path, unsigned offset) {
    members(inner.members, path + "." + std::string(inner.name) + ".", offset);
  }

  /// Whole bytes under one name.
  void range(const std::string& path, std::size_t offset, std::size_t length) {
    const ByteSpan bytes = message_.subspan(offset, std::min(length, message_.size() - offset));
    if (bytes.size() > kOneNumberBytes) return dwords(path, offset, offset, bytes.size());
    name_bytes(offset, bytes.size());
    if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) return;
    std::string value = "0x";
    for (const std::byte b : bytes) value += fmt::format("{:02x}", std::to_integer<unsigned>(b));
    add(path, std::move(value), offset, bytes.size(), static_cast<unsigned>(bytes.size() * 8));
  }

  /// Every dword that is not zero as path[offset - zero].
  void dwords(std::string_view path, std::size_t zero, std::size_t offset, std::size_t length) {
    name_bytes(offset, length);
    const std::size_t end = offset + length;
    for (; offset < end; offset += kDwordBytes)
      if (const std::uint32_t value = dword_at(message_.first(end), offset); value != 0)
        add(fmt::format("{}[{:#04x}]", path, offset - zero), fmt::format("{:#x}", value), offset,
            std::min(kDwordBytes, end - offset), 32);
  }

  void entries(const Tail& tail, std::size_t offset) {
    const std::size_t count = (message_.size() - offset) / tail.entry_bytes;
    // The count has no bytes of its own: it is what the message's length says.
    if (count != 0) add(fmt::format("{}.count", tail.name), std::to_string(count), offset, 0, 32);
    for (std::size_t i = 0; i < count; ++i, offset += tail.entry_bytes) {
      name_bytes(offset, tail.entry_bytes);
      const std::uint64_t value = std::uint64_t{dword_at(message_, offset)} << 32 |
                                  dword_at(message_, offset + kDwordBytes);
      if (detail_ == Detail::Full && value != 0)
        add(fmt::format("{}[{}]", tail.name, i), fmt::format("{:#x}", value), offset,
            tail.entry_bytes, 64);
    }
  }

  void reserved() {
    for (std::size_t i = 0; i < named_.size(); ++i)
      if (const std::uint32_t rest = dword_at(message_, i * kDwordBytes) & ~named_[i]; rest != 0)
        add(fmt::format("reserved[{:#04x}]", i * kDwordBytes), fmt::format("{:#x}", rest),
            i * kDwordBytes, kDwordBytes, 32);
  }

  [[nodiscard]] std::vector<FieldValue> take() && {
    std::ranges::stable_sort(values_, {}, &FieldValue::offset);
    return std::move(values_);
  }

 private:
  void add(std::string path, std::string value, std::size_t offset, std::size_t bytes,
           unsigned width) {
    values_.push_back({std::move(path), std::move(value), offset, bytes, width});
  }

  void field(const std::string& path, unsigned offset, unsigned width) {
    const std::size_t dword = offset / 32 * kDwordBytes;
    std::uint64_t value = 0;
    if (width == 64) {
      name_bytes(dword, 2 * kDwordBytes);
      value =
          std::uint64_t{dword_at(message_, dword)} << 32 | dword_at(message_, dword + kDwordBytes);
    } else {
      const unsigned shift = 32 - width - offset % 32;
      const auto mask = static_cast<std::uint32_t>(widest(width) << shift);
      named_[dword / kDwordBytes] |= mask;
      value = (dword_at(message_, dword) & mask) >> shift;
    }
    const std::size_t first = offset / 8;
    if (value != 0)
      add(path, fmt::format("{:#x}", value), first, (offset + width - 1) / 8 - first + 1, width);
  }

  /// `offset` is that of a dword, as every range, array and 64-bit field has it.
  void name_bytes(std::size_t offset, std::size_t length) {
    for (std::size_t i = offset / kDwordBytes; length != 0 && i < named_.size(); ++i) {
      named_[i] = ~std::uint32_t{0};
      length -= std::min(length, kDwordBytes);
    }
  }

  ByteSpan message_;
  Variant variant_;
  Detail detail_;
  std::vector<std::uint32_t> named_;  // a dword of the message each: the bits that have a name
  std::vector<FieldValue> values_;
};

/// What stands behind the layout, or behind the header of a message without one.
void tail(Walk& walk, Opcode opcode, Side side, const Variant& variant, std::size_t offset,
          std::size_t length) {
  const auto* array = std::ranges::find_if(
      kTails, [&](const Tail& t) { return t.opcode == opcode && t.side == side; });
  if (array != std::end(kTails)) {
    walk.entries(*array, offset);
  } else if (opcode != Opcode::ACCESS_REG) {
    walk.dwords(layout_of(opcode, side) != nullptr ? "tail" : "dword", 0, offset, length);
  } else if (variant.layout != nullptr) {
    walk.layout(*variant.layout, std::string(variant.member), static_cast<unsigned>(offset * 8));
  } else {
    walk.dwords("register_data", offset, offset, length);
  }
}

std::vector<FieldValue> fields(ByteSpan in, ByteSpan message, Side side, Detail detail) {
  const Opcode opcode = opcode_of(in);
  const Variant variant = variant_of(in);
  Walk walk(message, variant, detail);
  std::size_t end = 0;
  if (const LayoutInfo* layout = layout_of(opcode, side); layout != nullptr) {
    walk.members(layout->members, "", 0);
    end = layout->bits / 8;
  } else if (detail == Detail::Full) {
    constexpr std::span kIn(cmd_in::members);
    constexpr std::span kOut(cmd_out::members);  // the last, command_output, is a place holder
    walk.members(side == Side::Input ? kIn : kOut.first(kOut.size() - 1), "", 0);
    end = cmd_in::bytes;
  } else {
    return {};
  }
  if (message.size() > end) tail(walk, opcode, side, variant, end, message.size() - end);
  walk.reserved();
  return std::move(walk).take();
}

void drop(std::vector<FieldValue>& values, std::string_view first, std::string_view second) {
  std::erase_if(values, [&](const FieldValue& v) { return v.name == first || v.name == second; });
}

std::size_t layout_bytes(Opcode opcode, Side side) {
  const LayoutInfo* layout = layout_of(opcode, side);
  return layout == nullptr ? 0 : layout->bits / 8;
}

}  // namespace

Opcode opcode_of(std::span<const std::byte> in) {
  return Opcode{static_cast<std::uint16_t>(field_or_zero<cmd_in, "opcode">(in))};
}

std::uint16_t op_mod_of(std::span<const std::byte> in) {
  return static_cast<std::uint16_t>(field_or_zero<cmd_in, "op_mod">(in));
}

std::vector<FieldValue> input_fields(std::span<const std::byte> in, Detail detail) {
  auto values = fields(in, in, Side::Input, detail);
  drop(values, "opcode", "op_mod");
  return values;
}

std::vector<FieldValue> output_fields(std::span<const std::byte> in, std::span<const std::byte> out,
                                      Detail detail) {
  auto values = fields(in, out, Side::Output, detail);
  drop(values, "status", "syndrome");
  return values;
}

std::size_t input_layout_bytes(Opcode opcode) { return layout_bytes(opcode, Side::Input); }
std::size_t output_layout_bytes(Opcode opcode) { return layout_bytes(opcode, Side::Output); }

}  // namespace portcullis::prm
