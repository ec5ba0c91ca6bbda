// SPDX-License-Identifier: BSD-3-Clause
//
// Names of opcodes and statuses, and the line that an error about a command shows.
#include "prm/status.hpp"

#include <fmt/format.h>

#include "prm/opcodes.hpp"

namespace portcullis::prm {

namespace {

struct StatusText {
  std::string_view name = "UNKNOWN";
  std::string_view meaning = "not a status that Linux knows";
};

StatusText text_of(CommandStatus status) noexcept {
  switch (status) {
    case CommandStatus::OK:
      return {"OK", "no error"};
    case CommandStatus::INT_ERR:
      return {"INT_ERR", "internal error"};
    case CommandStatus::BAD_OP_ERR:
      return {"BAD_OP_ERR", "bad operation"};
    case CommandStatus::BAD_PARAM_ERR:
      return {"BAD_PARAM_ERR", "bad parameter"};
    case CommandStatus::BAD_SYS_STATE_ERR:
      return {"BAD_SYS_STATE_ERR", "bad system state"};
    case CommandStatus::BAD_RES_ERR:
      return {"BAD_RES_ERR", "bad resource"};
    case CommandStatus::RES_BUSY:
      return {"RES_BUSY", "resource busy"};
    case CommandStatus::NOT_READY:
      return {"NOT_READY", "firmware not ready"};
    case CommandStatus::LIM_ERR:
      return {"LIM_ERR", "limits exceeded"};
    case CommandStatus::BAD_RES_STATE_ERR:
      return {"BAD_RES_STATE_ERR", "bad resource state"};
    case CommandStatus::IX_ERR:
      return {"IX_ERR", "bad index"};
    case CommandStatus::NO_RES_ERR:
      return {"NO_RES_ERR", "no resources"};
    case CommandStatus::BAD_QP_STATE_ERR:
      return {"BAD_QP_STATE_ERR", "bad QP state"};
    case CommandStatus::BAD_PKT_ERR:
      return {"BAD_PKT_ERR", "bad packet, discarded"};
    case CommandStatus::BAD_SIZE_OUTS_CQES_ERR:
      return {"BAD_SIZE_OUTS_CQES_ERR", "bad size, too many outstanding CQEs"};
    case CommandStatus::BAD_INP_LEN_ERR:
      return {"BAD_INP_LEN_ERR", "bad input length"};
    case CommandStatus::BAD_OUTP_LEN_ERR:
      return {"BAD_OUTP_LEN_ERR", "bad output length"};
  }
  return {};
}

StatusText text_of(DeliveryStatus status) noexcept {
  switch (status) {
    case DeliveryStatus::OK:
      return {"OK", "delivered"};
    case DeliveryStatus::SIGNAT_ERR:
      return {"SIGNAT_ERR", "signature error"};
    case DeliveryStatus::TOK_ERR:
      return {"TOK_ERR", "token error"};
    case DeliveryStatus::BAD_BLK_NUM_ERR:
      return {"BAD_BLK_NUM_ERR", "bad block number"};
    case DeliveryStatus::OUT_PTR_ALIGN_ERR:
      return {"OUT_PTR_ALIGN_ERR", "output pointer not aligned to block size"};
    case DeliveryStatus::IN_PTR_ALIGN_ERR:
      return {"IN_PTR_ALIGN_ERR", "input pointer not aligned to block size"};
    case DeliveryStatus::FW_ERR:
      return {"FW_ERR", "firmware internal error"};
    case DeliveryStatus::IN_LENGTH_ERR:
      return {"IN_LENGTH_ERR", "command input length error"};
    case DeliveryStatus::OUT_LENGTH_ERR:
      return {"OUT_LENGTH_ERR", "command output length error"};
    case DeliveryStatus::RES_FLD_NOT_CLR_ERR:
      return {"RES_FLD_NOT_CLR_ERR", "reserved fields not cleared"};
    case DeliveryStatus::CMD_DESCR_ERR:
      return {"CMD_DESCR_ERR", "bad command descriptor type"};
  }
  return {};
}

}  // namespace

std::string_view name(Opcode opcode) noexcept {
  switch (opcode) {
#define PORTCULLIS_PRM_CASE(id, value, text) \
  case Opcode::id:                           \
    return text;
    PORTCULLIS_PRM_OPCODES(PORTCULLIS_PRM_CASE)
    PORTCULLIS_PRM_OLD_OPCODES(PORTCULLIS_PRM_CASE)
#undef PORTCULLIS_PRM_CASE
  }
  return "UNKNOWN";
}

bool is_known(Opcode opcode) noexcept { return name(opcode) != "UNKNOWN"; }

std::string_view name(CommandStatus status) noexcept { return text_of(status).name; }
std::string_view name(DeliveryStatus status) noexcept { return text_of(status).name; }
std::string_view meaning(CommandStatus status) noexcept { return text_of(status).meaning; }
std::string_view meaning(DeliveryStatus status) noexcept { return text_of(status).meaning; }

std::string describe(const CommandFault& fault) {
  const std::string command =
      fmt::format("{} ({:#x}) op_mod {}", name(Opcode{fault.opcode}), fault.opcode, fault.op_mod);
  if (fault.delivery_status != 0) {
    const StatusText text = text_of(DeliveryStatus{fault.delivery_status});
    return fmt::format("{}: not delivered, {} ({:#x}, {})", command, text.name,
                       fault.delivery_status, text.meaning);
  }
  const StatusText text = text_of(CommandStatus{fault.status});
  return fmt::format("{}: status {} ({:#x}, {}), syndrome {:#x}", command, text.name, fault.status,
                     text.meaning, fault.syndrome);
}

}  // namespace portcullis::prm
