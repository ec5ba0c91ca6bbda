# SPDX-License-Identifier: BSD-3-Clause
#
# leased on the model's function in the guest, and sixteen lease-verify at once on rdma_rxe: what
# each of them saw of one revoke, which its own verdicts do not know of each other.
import json
import statistics
from pathlib import Path

from scenario import Scenario

CLIENTS = range(1, 17)
COOPERATING = [number for number in CLIENTS if number % 8 < 4]
# Of lease-verify: a second or two were missed. Two emulated CPUs have sixteen clients to run, so
# some may be late; most are not.
GOOD, LATE = 0, (3, 4)
LEAST_IN_TIME = 6  # of eight


class Client:
    def __init__(self, results: Path, number: int):
        self.number = number
        self.cooperates = number in COOPERATING
        self.status = int((results / f"revoke-{number}.status").read_text(encoding="utf-8"))
        self.text = (results / f"revoke-{number}.txt").read_text(encoding="utf-8")
        self.seen = json.loads((results / f"revoke-{number}.json").read_text(encoding="utf-8"))

    def wrong(self) -> list[str]:
        name = f"client {self.number}"
        word = self.seen.get("word", {})
        lines = []
        if self.status != GOOD and self.status not in LATE:
            lines.append(f"{name}: status {self.status}: {self.seen['verdict']}")
        if word.get("outcome") != "TornDown" or word.get("memory") == "unproved":
            lines.append(f"{name}: the word of the end is {word}")
        if self.seen["succeeded"] == 0:
            lines.append(f"{name}: nothing succeeded before the revoke")
        if self.cooperates and self.seen["last_post_ns"] > word.get("at_ns", 0):
            lines.append(f"{name} cooperates, and posted behind the word")
        if self.seen["last_success_post_ns"] > word.get("at_ns", 0):
            lines.append(f"{name}: what was posted behind the word succeeded")
        if "outstanding" in self.seen and len(self.seen.get("advice", [])) != \
                self.seen["outstanding"]["requests"]:
            lines.append(f"{name}: no advice for each request without an answer")
        return lines

    def ms(self) -> float:
        return self.seen["unknown_for_ns"] / 1e6


def table(clients: list[Client]) -> list[str]:
    rows = []
    for cooperates in (True, False):
        ms = [client.ms() for client in clients if client.cooperates == cooperates]
        rows.append(f"{'stop at the word' if cooperates else 'go on':17} {len(ms)} clients knew "
                    f"after {statistics.median(ms):.1f} ms ({min(ms):.1f} to {max(ms):.1f})")
    return rows


def judge(_build: Path, results: Path) -> list[str]:
    try:
        clients = [Client(results, number) for number in CLIENTS]
        wrong = [line for client in clients for line in client.wrong()]
        listed = (results / "list.txt").read_text(encoding="utf-8").splitlines()
        revoked = json.loads((results / "revoked.txt").read_text(encoding="utf-8"))
        rows = table(clients)
    except (OSError, ValueError, KeyError) as error:
        return [f"results are missing: {error!r}"]
    if len(listed) < len(CLIENTS) or revoked["torn_down"] != len(CLIENTS):
        wrong.append(f"{len(listed)} leases were listed and {revoked} taken back; "
                     f"{len(CLIENTS)} expected")
    for cooperates in (True, False):
        in_time = sum(client.status == GOOD for client in clients
                      if client.cooperates == cooperates)
        if in_time < LEAST_IN_TIME:
            wrong.append(f"{in_time} of 8 that {'' if cooperates else 'do not '}cooperate met "
                         f"everything; at least {LEAST_IN_TIME} expected")
    print("from the last success until a client knew, emulated:", *rows, sep="\n", flush=True)
    return wrong


SCENARIO = Scenario(
    summary="leased under vfio-pci: 16 clients on soft-RoCE, one revoke, a key-value store",
    script="leased_rxe.sh",
    servers=[["--wire", "dgram,local={results}/wire.hca,remote={results}/wire.nic"]],
    qemu_arguments=["-netdev", "dgram,id=wire,local.type=unix,local.path={results}/wire.nic,"
                    "remote.type=unix,remote.path={results}/wire.hca",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    programs=["tools/leased/leased", "tools/leasectl/leasectl",
              "tools/lease_verify/lease-verify", "docs/examples/example-kv-store"],
    judge=judge,
    deadline_s=900,
    is_long=True)
