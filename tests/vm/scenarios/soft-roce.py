# SPDX-License-Identifier: BSD-3-Clause
#
# Another RC stack at the other end of a wire of Ethernet frames: rdma_rxe of the guest's kernel on
# an ordinary NIC, whose QEMU backend is joined to the model's port.
import json
import statistics
import struct
import subprocess
from pathlib import Path

from scenario import Scenario

PLANS = ("seed", "nak-first")
TIMEOUTS = (8, 12, 14)
SAMPLES = range(1, 6)
LEAST_SAMPLES = 2
STATUS = {"seed": 12, "nak-first": 10}
SILENCE = "IBV_WC_RETRY_EXC_ERR"
FAILOVER_CHECK = "tools/failover_check/failover-check"
SOONER = 20  # times, at timeout 14
TOOL_ROUNDS = 500  # of each perftest
TOOL_BYTES = 4096
OUR_ADDRESS = bytes([192, 0, 2, 1])
THEIR_ADDRESS = bytes([192, 0, 2, 2])
OUR_VLAN_ADDRESS = bytes([198, 51, 5, 1])
THEIR_VLAN_ADDRESS = bytes([198, 51, 5, 2])
MTU = 1024
ROCE_PORT = 4791
WRITES = {6, 7, 8, 10}  # first, middle, last, only: BTH opcodes of RC
WITH_RETH = {6, 10}
READ_REQUEST = 12
READ_RESPONSES = {13: 4, 14: 0, 15: 4, 16: 4}  # first, middle, last, only: bytes of AETH


def read_json(file: Path):
    return json.loads(file.read_text(encoding="utf-8"))


class Cell:
    """What the client saw of one plan at one timeout. A sample is left out when the client, off its
    emulated CPU, asked only after the outcome stood: by then every plan has silenced the QP."""

    def __init__(self, results: Path, plan: str, timeout: int):
        seen = [read_json(results / f"{plan}-{timeout}-{sample}.verify.json")
                for sample in SAMPLES]
        served = read_json(results / f"{plan}-{timeout}.serve.json")
        self.name = f"{plan} at timeout {timeout}"
        self.changed = any(one["changed_after_outcome"] for one in served)
        self.budget_ms = seen[0]["least_budget_ns"] / 1e6
        prompt = [one for one, other in zip(seen, served)
                  if one["failed_post_ns"] < other["outcome_ns"]]
        self.statuses = {one["status"] for one in prompt}
        self.ms = [(one["first_failure_ns"] - one["last_success_ns"]) / 1e6 for one in prompt]

    def wrong(self, status: int) -> list[str]:
        lines = []
        if len(self.ms) < LEAST_SAMPLES:
            lines.append(f"{self.name}: the client asked in time in {len(self.ms)} samples of "
                         f"{len(SAMPLES)}; {LEAST_SAMPLES} are needed")
        elif self.statuses != {status}:
            lines.append(f"{self.name}: status {self.statuses}, {status} expected")
        if self.changed:
            lines.append(f"{self.name}: a byte changed after the outcome")
        return lines

    def text(self) -> str:
        return (f"{statistics.median(self.ms):.1f} ms ({min(self.ms):.1f} to {max(self.ms):.1f}), "
                f"status {max(self.statuses)}")


def records(capture: bytes):
    """Each record of a pcap file: 16 bytes of its own, then the frame."""
    at = 24
    while at + 16 <= len(capture):
        end = at + 16 + struct.unpack_from("<I", capture, at + 8)[0]
        yield capture[at:end]
        at = end


def frames(capture: bytes, to_address: bytes = OUR_ADDRESS):
    """(opcode, destination QP, PSN, what follows the BTH) of every RoCEv2 frame to an address; the
    ICRC is still at its end."""
    for record in records(capture):
        frame = record[16:]
        if frame[12:14] != b"\x08\x00" or frame[23] != 17 or frame[30:34] != to_address:
            continue
        if struct.unpack_from(">H", frame, 36)[0] == ROCE_PORT:
            end = 14 + struct.unpack_from(">H", frame, 16)[0]  # what Ethernet padded is none of it
            bth = struct.unpack_from(">BBHII", frame, 42)
            yield bth[0], bth[3] & 0xffffff, bth[4] & 0xffffff, frame[54:end]


def written(capture: bytes, qpn: int, first_psn: int, size: int) -> bytes:
    """What the WRITEs of one connection leave in memory, by the wire alone."""
    memory = bytearray(size)
    address, started = 0, False
    for opcode, to, psn, rest in frames(capture):
        started = started or (to == qpn and psn == first_psn)
        distance = (psn - first_psn) & 0xffffff
        if not started or to != qpn or opcode not in WRITES or distance > 4 * TOOL_ROUNDS:
            continue
        if opcode in WITH_RETH:
            address = struct.unpack_from(">Q", rest)[0]
            rest = rest[16:]
        payload = rest[:-4]  # the ICRC; lengths here need no padding
        memory[address:address + len(payload)] = payload
        address += len(payload)
    return bytes(memory)


def read_responses(capture: bytes, lease: dict[str, int], region: bytes) -> tuple[int, int]:
    """Of the READ responses of one connection by the wire alone: how many bytes there were, and in
    how many packets one differs from the region. The first READ comes with the first PSN; packet n
    of an answer has the request's PSN + n."""
    places = {}  # (PSN of a response) -> address of its bytes
    for opcode, to, psn, rest in frames(capture):
        if opcode == READ_REQUEST and to == lease["qpn"] and (places or psn == lease["psn"]):
            address, _rkey, length = struct.unpack_from(">QII", rest)
            for offset in range(0, length, MTU):
                places[(psn + offset // MTU) & 0xffffff] = address + offset
    size, different = 0, 0
    for opcode, to, psn, rest in frames(capture, THEIR_ADDRESS):
        if opcode not in READ_RESPONSES or to != lease["client"] or psn not in places:
            continue
        payload = rest[READ_RESPONSES[opcode]:-4]
        size += len(payload)
        different += payload != region[places[psn]:places[psn] + len(payload)]
    return size, different


def lease_of(results: Path, tool: str) -> tuple[dict[str, int], bytes]:
    """How a perftest was connected to its lease, and what its region was at the end."""
    words = (results / f"{tool}.lease.txt").read_text(encoding="utf-8").split()
    return ({key: int(value, 0) for key, value in (word.split("=") for word in words)},
            (results / f"{tool}.region").read_bytes())


def judge_tools(results: Path) -> list[str]:
    """perftest itself compares no byte; this does."""
    wrong = []
    capture = (results / "wire.pcap").read_bytes()
    lease, region = lease_of(results, "ib_write_bw")
    on_wire = written(capture, lease["qpn"], lease["psn"], len(region))
    if not any(region) or region != on_wire:
        wrong.append("ib_write_bw: the region is not what was written on the wire")
    lease, region = lease_of(results, "ib_read_bw")
    size, different = read_responses(capture, lease, region)
    if size < TOOL_ROUNDS * TOOL_BYTES or different or not any(region[:TOOL_BYTES]):
        wrong.append(f"ib_read_bw: {size} bytes came back, at least {TOOL_ROUNDS * TOOL_BYTES} "
                     f"expected; {different} packets are not what the region holds")
    region = (results / "ib_atomic_bw.region").read_bytes()
    added = sum(struct.unpack(f"<{len(region) // 8}Q", region))
    if added != TOOL_ROUNDS:
        wrong.append(f"ib_atomic_bw: {added} was added, {TOOL_ROUNDS} FETCH_ADDs of 1 were made")
    return wrong


VLAN_TAG = {OUR_VLAN_ADDRESS: 3 << 13 | 5, THEIR_VLAN_ADDRESS: 5}


def judge_vlan(results: Path) -> list[str]:
    """Each end sent RoCEv2 on VLAN 5, all of it there, and ours with the priority that it was
    given."""
    capture = (results / "wire.pcap").read_bytes()
    tags = {address: set() for address in VLAN_TAG}
    for record in records(capture):
        frame = record[16:]
        is_tagged = frame[12:14] == b"\x81\x00"
        packet = frame[18:] if is_tagged else frame[14:]
        if packet[:1] == b"\x45" and packet[9] == 17 and packet[12:16] in tags and \
                struct.unpack_from(">H", packet, 22)[0] == ROCE_PORT:
            tags[packet[12:16]].add(struct.unpack_from(">H", frame, 14)[0] if is_tagged else None)
    return [f"from {'.'.join(map(str, address))} there are tags {tags[address]}, {tag} is expected"
            for address, tag in VLAN_TAG.items() if tags[address] != {tag}]


def failover_check(build: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run([build / FAILOVER_CHECK, *arguments], input=given, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"failover-check {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def imported(build: Path, file: Path, *captured: str) -> dict:
    return json.loads(failover_check(build, "import", str(file), "--environment", "quiet",
                                     "--fenced", *captured))


def what_is_asked(request: dict) -> dict:
    return {key: request.get(key)
            for key in ("opcode", "psn", "rkey", "remote_addr", "length", "compare_add")}


# Behind Ethernet, IPv4, UDP, BTH and the address of RETH or AtomicETH.
RKEY_AT = 14 + 20 + 8 + 12 + 8


def cut_of_wire(results: Path, rkey: int) -> Path:
    """What wire.pcap has from the first to the last request with that key. Connections before it
    had the same QP numbers, and PSNs anywhere: one that begins near where another ended is told
    from it by nobody."""
    data = (results / "wire.pcap").read_bytes()
    found = list(records(data))
    key = rkey.to_bytes(4, "big")
    own = [number for number, record in enumerate(found)
           if record[16 + RKEY_AT:20 + RKEY_AT] == key]
    cut = results / f"wire-{rkey:#x}.pcap"
    cut.write_bytes(data[:24] + b"".join(found[own[0]:own[-1] + 1]))
    return cut


def judge_capture(build: Path, results: Path, plan: str) -> list[str]:
    """Of a revoke under one operation at a time: what a capture at the client leaves outstanding is
    what the client knows it to be, and the advice on it is what the region says became of it."""
    name = f"captured-{plan}"
    log = imported(build, results / f"{name}.verify.json")
    dump = imported(build, results / f"{name}.pcapng", "--captured-at", "sender")
    asked = [what_is_asked(request) for request in log["work_requests"]]
    if [what_is_asked(request) for request in dump["work_requests"]] != asked or len(asked) != 1:
        return [f"{name}: outstanding by the capture {dump['work_requests']}, by the client "
                f"{log['work_requests']}"]
    # The wire's other end has it too, among all that may be outstanding for who sits there.
    cut = cut_of_wire(results, asked[0]["rkey"])
    there = imported(build, cut, "--captured-at", "elsewhere",
                     "--sender", "192.0.2.2")["work_requests"]
    wrong = [] if asked[0] in map(what_is_asked, there) else [
        f"{name}: {asked[0]} is not among the {len(there)} requests of {cut.name}"]
    # A NAK is on the wire, silence is not.
    told = log["work_requests"][0]["status"]
    heard = dump["work_requests"][0].get("status", SILENCE)
    if heard != told:
        wrong.append(f"{name}: {heard} by the capture, the client was told {told}")
    return wrong + judge_advice(build, results / f"{name}.region", dump,
                                read_json(results / f"{name}.verify.json")["succeeded"])


def judge_advice(build: Path, region: Path, dump: dict, succeeded: int) -> list[str]:
    """Each operation leaves its number in the first word: a WRITE writes it, a FETCH_ADD adds 1."""
    word = struct.unpack_from("<Q", region.read_bytes())[0]
    request = dump["work_requests"][0]
    is_refused = "status" in request
    if word != succeeded and (is_refused or word != succeeded + 1):
        return [f"{region.name}: the word is {word}, {succeeded} operations succeeded and the next "
                f"was {'refused' if is_refused else 'not answered'}"]
    expected = "no-advice" if is_refused else "repost"  # what was refused would be again
    if request["opcode"] == "IBV_WR_ATOMIC_FETCH_AND_ADD" and not is_refused:
        request["evidence"] = {"word": word, "word_before": succeeded}
        expected = "repost" if word == succeeded else "never"
    said = json.loads(failover_check(build, "classify", "-", "--json", given=json.dumps(dump)))[0]
    print(f"{request['opcode']} at PSN {request['psn']}: {succeeded} succeeded before it, the word "
          f"is {word}, advice {said['advice']}: {said['reason']}", flush=True)
    if said["advice"] != expected or is_refused != said["reason"].startswith("refused"):
        return [f"{region.name}: advice {said['advice']}, {said['reason']}; {expected} expected"]
    return []


def show(build: Path, results: Path) -> list[str]:
    """The table, printed and kept; what is wrong with it."""
    try:
        wrong = judge_tools(results) + judge_vlan(results)
        wrong += [line for plan in PLANS for line in judge_capture(build, results, plan)]
        cells = {(plan, timeout): Cell(results, plan, timeout)
                 for plan in PLANS for timeout in TIMEOUTS}
    except (OSError, ValueError, KeyError) as error:
        return [f"results are missing: {error!r}"]
    wrong += [line for (plan, _), cell in cells.items() for line in cell.wrong(STATUS[plan])]
    if wrong:
        return wrong
    rows = ["| plan | " + " | ".join(f"timeout {timeout}" for timeout in TIMEOUTS) + " |",
            "|---|" + "---|" * len(TIMEOUTS)]
    rows += [f"| `{plan}` | " + " | ".join(cells[plan, timeout].text() for timeout in TIMEOUTS)
             + " |" for plan in PLANS]
    rows.append("| budget | " + " | ".join(f"{cells[PLANS[0], timeout].budget_ms:.1f} ms"
                                           for timeout in TIMEOUTS) + " |")
    table = "\n".join(rows) + "\n"
    (results / "table.md").write_text(table, encoding="utf-8")
    sooner = (statistics.median(cells["seed", 14].ms) /
              statistics.median(cells["nak-first", 14].ms))
    print("last success to first failure, median (least to most) of up to "
          f"{len(SAMPLES)}, emulated:\n{table}"
          f"timeout 14: nak-first is seen {sooner:.0f} times sooner than seed", flush=True)
    return [] if sooner >= SOONER else [f"nak-first is seen {sooner:.1f} times sooner than seed at "
                                        f"timeout 14; at least {SOONER} times expected"]


SCENARIO = Scenario(
    summary="soft-RoCE of the guest's kernel: leases and revokes, perftest, ibv_rc_pingpong",
    script="soft-roce.sh",
    servers=[["--behaviour", "eth-offloads",
              "--wire", "dgram,local={results}/wire.hca,remote={results}/wire.nic",
              "--pcap", "{results}/wire.pcap"]],
    qemu_arguments=["-netdev", "dgram,id=wire,local.type=unix,local.path={results}/wire.nic,"
                    "remote.type=unix,remote.path={results}/wire.hca",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    programs=["tools/lease_serve/lease-serve", "tools/lease_verify/lease-verify",
              "tools/roce_peer/roce-peer", "tools/fence_audit/fence-audit", FAILOVER_CHECK],
    judge=show,
    deadline_s=3600,
    is_long=True)
