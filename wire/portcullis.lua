-- SPDX-License-Identifier: BSD-3-Clause
--
-- A Wireshark dissector for the lease protocol (docs/wire.md), written from that page and not from
-- the C++ beside it. It takes captures of link type USER0 whose packets are one frame each:
--
--   tshark -X lua_script:portcullis.lua -r frames.pcap -V

local portcullis = Proto("portcullis", "Portcullis lease protocol")

local ops = {
  [0x0201] = "HELLO", [0x0202] = "LEASE_ALLOC", [0x0203] = "LEASE_RENEW", [0x0204] = "LEASE_LIST",
  [0x0205] = "LEASE_WATCH", [0x0206] = "STATUS", [0x0207] = "LEASE_HISTORY",
  [0x0208] = "LEASE_CHALLENGE", [0x020a] = "LEASE_REVOKE", [0x020b] = "REVOKE_TENANT",
  [0x8000] = "REFUSED",
  [0x8201] = "HELLO answer", [0x8202] = "LEASE_ALLOC answer", [0x8203] = "LEASE_RENEW answer",
  [0x8204] = "LEASE_LIST answer", [0x8205] = "LEASE_WATCH answer", [0x8206] = "STATUS answer",
  [0x8207] = "LEASE_HISTORY answer", [0x8208] = "LEASE_CHALLENGE answer",
  [0x820a] = "LEASE_REVOKE answer", [0x820b] = "REVOKE_TENANT answer",
  [0x4201] = "REVOKED", [0x4202] = "EXPIRED", [0x4203] = "SERVER_RESTARTED",
}
local outcomes = { [0] = "TornDown", [1] = "Fenced", [2] = "NotFound", [3] = "Revoking" }
local memory = {
  [0] = "unproved", [1] = "DESTROY_MKEY", [2] = "UMR", [3] = "unmap", [4] = "bus master off",
  [5] = "DESTROY_MKEY of the tenant's key", [6] = "function reset",
}
local causes = {
  [0] = "none", [1] = "holder", [2] = "operator", [3] = "expired", [4] = "server",
  [5] = "restart", [6] = "challenge",
}
local states = { [1] = "ACTIVE", [2] = "REVOKING", [3] = "FENCED" }
local challenges = { [0] = "none", [1] = "open", [2] = "met" }
local roles = { [1] = "client", [2] = "operator", [3] = "observer" }
local plans = {
  [0] = "default", [1] = "seed", [2] = "nak-first", [3] = "legacy", [4] = "umr",
  [5] = "access-flags",
}
local codes = {
  [1] = "malformed", [2] = "unknown op", [3] = "unknown version", [4] = "HELLO first",
  [5] = "invalid value", [6] = "not allowed", [7] = "limit", [8] = "no resources", [9] = "busy",
  [10] = "unavailable", [11] = "not found", [12] = "the server is ending",
}

-- A body is a list of members: name, bytes, kind, names of values. Kind: number, hex, bytes, text,
-- none (reserved).
local function n(name, bytes, names) return { name, bytes, "number", names } end
local function x(name, bytes) return { name, bytes, "hex" } end
local function b(name, bytes) return { name, bytes, "bytes" } end
local function t(name, bytes) return { name, bytes, "text" } end
local function r(bytes) return { "reserved", bytes, "none" } end

local ended = {
  x("id", 8), x("epoch", 8), n("tenant", 8), n("unix_ms", 8), x("failed_mask", 4),
  n("outcome", 1, outcomes), n("memory", 1, memory), n("cause", 1, causes), r(1),
}
local row = {
  x("id", 8), x("epoch", 8), n("tenant", 8), n("bytes", 8), n("age_ms", 8), n("left_ms", 8),
  x("failed_mask", 4), n("state", 1, states), n("outcome", 1, outcomes), n("memory", 1, memory),
  n("cause", 1, causes),
}
local past = {
  x("id", 8), x("epoch", 8), n("tenant", 8), n("bytes", 8), n("granted_unix_ms", 8),
  n("ended_unix_ms", 8), x("failed_mask", 4), n("outcome", 1, outcomes), n("memory", 1, memory),
  n("cause", 1, causes), r(1),
}
local bodies = {
  [0x0201] = { x("known_incarnation", 8), t("client_name", 32) },
  [0x8201] = {
    x("incarnation", 8), n("tenant", 8), n("most_bytes", 8), n("default_ttl_ms", 8),
    n("most_ttl_ms", 8), n("orphan_ms", 8), n("most_leases", 4), n("role", 1, roles), r(3),
  },
  [0x0202] = {
    n("bytes", 8), n("ttl_ms", 8), b("gid", 16), b("mac", 6), n("mtu", 2), x("qpn", 4),
    x("psn", 4), x("access", 1), n("ack_timeout", 1), n("retry_count", 1), r(5),
  },
  [0x8202] = {
    x("id", 8), x("epoch", 8), x("address", 8), n("bytes", 8), n("ttl_ms", 8), b("gid", 16),
    b("mac", 6), n("mtu", 2), x("qpn", 4), x("psn", 4), x("rkey", 4), n("ack_timeout", 1),
    n("retry_count", 1), x("access", 1), r(1),
  },
  [0x0203] = { x("id", 8), x("epoch", 8), n("ttl_ms", 8) },
  [0x8203] = { n("ttl_ms", 8) },
  [0x0204] = { x("tenant", 8), x("cursor", 8) },
  [0x8204] = { x("next_cursor", 8), n("count", 4), r(4) },
  [0x0205] = { x("tenant", 8) },
  [0x8205] = { x("incarnation", 8) },
  [0x0206] = { x("flags", 8) },
  [0x8206] = {
    x("incarnation", 8), n("uptime_ms", 8), n("granted", 8), n("torn_down", 8), n("fenced", 8),
    n("longest_revoke_us", 8), n("slots", 4), n("held", 4), n("resting", 4), n("out", 4),
    n("connections", 4), x("flags", 4), t("device", 96),
  },
  [0x0207] = {
    x("tenant", 8), n("since_unix_ms", 8), n("before_unix_ms", 8), x("before_id", 8),
    x("before_epoch", 8), n("fenced_only", 1), r(7),
  },
  [0x8207] = { n("from_unix_ms", 8), n("count", 4), n("has_more", 1), r(3) },
  [0x0208] = { x("id", 8), x("epoch", 8) },
  [0x8208] = { b("nonce", 8), n("left_ms", 8), n("challenge", 1, challenges), r(7) },
  [0x020a] = { x("id", 8), x("epoch", 8), n("plan", 1, plans), r(7) },
  [0x820a] = {
    x("id", 8), x("epoch", 8), n("revoke_us", 8), x("failed_mask", 4), n("outcome", 1, outcomes),
    n("memory", 1, memory), n("cause", 1, causes), r(1),
  },
  [0x020b] = { n("tenant", 8) },
  [0x820b] = { n("revoke_us", 8), n("torn_down", 4), n("fenced", 4) },
  [0x4201] = ended,
  [0x4202] = ended,
  [0x4203] = { x("incarnation", 8), x("known_incarnation", 8) },
  [0x8000] = { n("code", 2, codes), x("op", 2), t("text", 124) },
}

local header_length = ProtoField.uint32("portcullis.length", "length", base.DEC)
local header_op = ProtoField.uint16("portcullis.op", "op", base.HEX, ops)
local header_version = ProtoField.uint16("portcullis.version", "version", base.DEC)
local header_id = ProtoField.uint64("portcullis.request_id", "request_id", base.DEC)
local makers = {
  [1] = ProtoField.uint8, [2] = ProtoField.uint16, [4] = ProtoField.uint32,
  [8] = ProtoField.uint64,
}

-- One field for each name and width: Wireshark wants a name once.
local fields = {}
local all = { header_length, header_op, header_version, header_id }
local function field_of(member)
  local name, bytes, kind, names = member[1], member[2], member[3], member[4]
  local key = name .. bytes
  if fields[key] == nil then
    local full = "portcullis." .. name
    local made
    if kind == "bytes" or kind == "none" then
      made = ProtoField.bytes(full, name)
    elseif kind == "text" then
      made = ProtoField.string(full, name)
    elseif kind == "hex" then
      made = makers[bytes](full, name, base.HEX)
    else
      made = makers[bytes](full, name, base.DEC, names)
    end
    fields[key] = made
    table.insert(all, made)
  end
  return fields[key]
end
for _, body in pairs(bodies) do
  for _, member in ipairs(body) do field_of(member) end
end
local rows = { [0x8204] = row, [0x8207] = past }
for _, each in pairs(rows) do
  for _, member in ipairs(each) do field_of(member) end
end
portcullis.fields = all

local bad_length = ProtoExpert.new("portcullis.bad_length", "wrong length",
                                   expert.group.MALFORMED, expert.severity.ERROR)
local bad_reserved = ProtoExpert.new("portcullis.bad_reserved", "a reserved byte is not 0",
                                     expert.group.PROTOCOL, expert.severity.WARN)
portcullis.experts = { bad_length, bad_reserved }

local function add_members(tree, buffer, at, body)
  for _, member in ipairs(body) do
    local bytes = member[2]
    if at + bytes > buffer:len() then
      tree:add_proto_expert_info(bad_length)
      return at
    end
    local range = buffer(at, bytes)
    if member[3] == "number" or member[3] == "hex" then
      tree:add_le(field_of(member), range)
    elseif member[3] == "text" then
      tree:add(field_of(member), range, (range:string():gsub("%z.*", "")))
    else
      local item = tree:add(field_of(member), range)
      if member[3] == "none" and range:bytes():tohex():match("[^0]") then
        item:add_proto_expert_info(bad_reserved)
      end
    end
    at = at + bytes
  end
  return at
end

function portcullis.dissector(buffer, packet, root)
  packet.cols.protocol = "PORTCULLIS"
  local tree = root:add(portcullis, buffer())
  if buffer:len() < 16 then
    tree:add_proto_expert_info(bad_length)
    return
  end
  tree:add_le(header_length, buffer(0, 4))
  tree:add_le(header_op, buffer(4, 2))
  tree:add_le(header_version, buffer(6, 2))
  tree:add_le(header_id, buffer(8, 8))
  local op = buffer(4, 2):le_uint()
  packet.cols.info = ops[op] or string.format("op 0x%04x", op)
  if buffer(0, 4):le_uint() ~= buffer:len() then tree:add_proto_expert_info(bad_length) end
  local body = bodies[op]
  if body == nil or buffer(6, 2):le_uint() ~= 1 then return end
  local at = add_members(tree, buffer, 16, body)
  if rows[op] ~= nil and at == 32 then
    for _ = 1, buffer(24, 4):le_uint() do
      if at >= buffer:len() then break end
      at = add_members(tree:add(buffer(at, math.min(56, buffer:len() - at)), "lease"), buffer, at,
                       rows[op])
    end
  end
  if at ~= buffer:len() then tree:add_proto_expert_info(bad_length) end
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, portcullis)
