// SPDX-License-Identifier: BSD-3-Clause
#include "steering/flow_caps.hpp"

#include "pmd/command_channel.hpp"
#include "prm/flow_cap.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::steering {
namespace {

Result<prm::Buffer<prm::query_hca_cap_out>> query(const pmd::Context& context, prm::CapType type) {
  prm::Buffer<prm::query_hca_cap_in> in;
  in.put<"opcode">(prm::Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(type, prm::CapMode::GET_CUR));
  return pmd::run<prm::query_hca_cap_out>(*context.commands, in);
}

DomainCaps read(prm::ConstView<prm::flow_table_prop_layout> domain) {
  DomainCaps caps;
  caps.ft_support = domain.get<"ft_support">() != 0;
  caps.flow_modify_en = domain.get<"flow_modify_en">() != 0;
  caps.modify_root = domain.get<"modify_root">() != 0;
  caps.bth_dst_qp = domain.get<"ft_field_support.bth_dst_qp">() != 0;
  caps.outer_sip = domain.get<"ft_field_support.outer_sip">() != 0;
  caps.outer_udp_sport = domain.get<"ft_field_support.outer_udp_sport">() != 0;
  caps.outer_udp_dport = domain.get<"ft_field_support.outer_udp_dport">() != 0;
  return caps;
}

}  // namespace

Result<DomainCaps> query_domain(const pmd::Context& context, prm::FlowTableType domain) {
  PORTCULLIS_TRY_ASSIGN(const auto general, query(context, prm::CapType::GENERAL));
  const auto offered = prm::ConstView<prm::cmd_hca_cap>::at(general.bytes<"capability">());
  if (offered.get<"nic_flow_table">() == 0) return DomainCaps{};
  PORTCULLIS_TRY_ASSIGN(const auto answer, query(context, prm::CapType::FLOW_TABLE));
  const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(answer.bytes<"capability">());
  using Domain = prm::ConstView<prm::flow_table_prop_layout>;
  if (domain == prm::FlowTableType::NIC_RX)
    return read(Domain(page.bytes<"flow_table_properties_nic_receive">()));
  if (domain != prm::FlowTableType::RDMA_RX)
    return fail(Errc::InvalidArgument, "steering: domain " + std::string(name(domain)) +
                                           "; accepted are NIC_RX and RDMA_RX");
  DomainCaps caps = read(Domain(page.bytes<"flow_table_properties_nic_receive_rdma">()));
  caps.bth_opcode = page.get<"ft_field_support_2_nic_receive_rdma.bth_opcode">() != 0;
  return caps;
}

}  // namespace portcullis::steering
