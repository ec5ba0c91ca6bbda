// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/events.hpp"

#include "prm/enums.hpp"
#include "prm/eqe.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {
namespace {

using prm::EventType;

/// event_data as layout L.
template <class L>
prm::ConstView<L> data_of(prm::ConstView<prm::eqe> eqe) noexcept {
  return prm::ConstView<L>(eqe.bytes<"event_data">());
}

/// An RQ or SQ of its own has a number too, but not a QP's.
Event qp_event(prm::ConstView<prm::eqe> eqe, UnknownEvent otherwise) noexcept {
  const auto data = data_of<prm::qp_events>(eqe);
  if (data.get<"type">() != prm::number(prm::EventQueueType::QP)) return otherwise;
  return QpEvent{otherwise.type, prm::QpNumber{data.get<"qpn_rqn_sqn">()}};
}

Event page_request(prm::ConstView<prm::eqe> eqe) noexcept {
  const auto data = data_of<prm::mlx5_eqe_page_req>(eqe);
  PageRequestEvent event;
  event.function_id = static_cast<std::uint16_t>(data.get<"func_id">());
  event.embedded_cpu_function = (data.get<"ec_function">() & prm::kEcFunctionMask) != 0;
  event.release_all = (data.get<"ec_function">() & prm::kReleaseAllPagesMask) != 0;
  event.pages = static_cast<std::int32_t>(data.get<"num_pages">());
  return event;
}

std::string type_name(std::uint8_t type) {
  return std::string(prm::name(static_cast<EventType>(type)));
}

struct Describe {
  std::string operator()(const UnknownEvent& event) const {
    return "event of unknown type " + std::to_string(event.type) + ", sub type " +
           std::to_string(event.sub_type);
  }
  std::string operator()(const QpEvent& event) const {
    return type_name(event.type) + " qpn " + std::to_string(prm::number(event.qpn));
  }
  std::string operator()(const CqErrorEvent& event) const {
    return "CQ_ERROR cqn " + std::to_string(event.cqn) + " syndrome " +
           std::to_string(event.syndrome);
  }
  std::string operator()(const PortChangeEvent& event) const {
    return "PORT_CHANGE port " + std::to_string(event.port) + " sub type " +
           std::to_string(event.sub_type);
  }
  std::string operator()(const PageRequestEvent& event) const {
    return "PAGE_REQUEST function " + std::to_string(event.function_id) + " pages " +
           std::to_string(event.pages) + (event.release_all ? " release all" : "");
  }
  std::string operator()(const InternalErrorEvent& /*event*/) const { return "INTERNAL_ERROR"; }
};

}  // namespace

Event decode_event(std::span<const std::byte, prm::kEqeBytes> bytes) noexcept {
  const prm::ConstView<prm::eqe> eqe(bytes);
  const UnknownEvent unknown{static_cast<std::uint8_t>(eqe.get<"event_type">()),
                             static_cast<std::uint8_t>(eqe.get<"event_sub_type">())};
  switch (static_cast<EventType>(unknown.type)) {
    case EventType::PATH_MIG:
    case EventType::COMM_EST:
    case EventType::SQ_DRAINED:
    case EventType::WQ_CATAS_ERROR:
    case EventType::PATH_MIG_FAILED:
    case EventType::WQ_INVAL_REQ_ERROR:
    case EventType::WQ_ACCESS_ERROR:
      return qp_event(eqe, unknown);
    case EventType::CQ_ERROR: {
      const auto data = data_of<prm::cq_error>(eqe);
      return CqErrorEvent{data.get<"cqn">(), static_cast<std::uint8_t>(data.get<"syndrome">())};
    }
    case EventType::PORT_CHANGE: {
      const auto data = data_of<prm::port_state_change_event>(eqe);
      return PortChangeEvent{static_cast<std::uint8_t>(data.get<"port_num">()), unknown.sub_type};
    }
    case EventType::PAGE_REQUEST:
      return page_request(eqe);
    case EventType::INTERNAL_ERROR:
      return InternalErrorEvent{};
    default:
      return unknown;
  }
}

std::string describe(const Event& event) { return std::visit(Describe{}, event); }

}  // namespace portcullis::pmd
