# SPDX-License-Identifier: BSD-3-Clause
#
# Another RC stack at the other end of a wire of Ethernet frames: rdma_rxe of the guest's kernel on
# an ordinary NIC, whose QEMU backend is joined to the model's port.
import json
import statistics
from pathlib import Path

from scenario import Scenario

PLANS = ("seed", "nak-first")
TIMEOUTS = (8, 12, 14)
SAMPLES = range(1, 4)
STATUS = {"seed": 12, "nak-first": 10}
SOONER = 20  # times, at timeout 14


def read_json(file: Path):
    return json.loads(file.read_text(encoding="utf-8"))


class Cell:
    """What the client saw of one plan at one timeout, in each sample."""

    def __init__(self, results: Path, plan: str, timeout: int):
        seen = [read_json(results / f"{plan}-{timeout}-{sample}.verify.json")
                for sample in SAMPLES]
        served = read_json(results / f"{plan}-{timeout}.serve.json")
        self.name = f"{plan} at timeout {timeout}"
        self.statuses = {one.get("status") for one in seen}
        self.changed = any(one["changed_after_outcome"] for one in served)
        self.budget_ms = seen[0]["least_budget_ns"] / 1e6
        if len(self.statuses) == 1 and None not in self.statuses:
            self.ms = [(one["first_failure_ns"] - one["last_success_ns"]) / 1e6 for one in seen]
            self.revoke_ms = [(one["first_failure_ns"] - other["revoke_ns"]) / 1e6
                              for one, other in zip(seen, served)]

    def wrong(self, status: int) -> list[str]:
        lines = []
        if self.statuses != {status}:
            lines.append(f"{self.name}: status {self.statuses}, {status} expected")
        if self.changed:
            lines.append(f"{self.name}: a byte changed after the outcome")
        return lines

    def text(self) -> str:
        return (f"{statistics.median(self.ms):.1f} ms ({min(self.ms):.1f} to {max(self.ms):.1f}), "
                f"status {self.statuses.copy().pop()}")


def show(_build: Path, results: Path) -> list[str]:
    """The table, printed and kept; what is wrong with it."""
    try:
        cells = {(plan, timeout): Cell(results, plan, timeout)
                 for plan in PLANS for timeout in TIMEOUTS}
    except (OSError, ValueError, KeyError) as error:
        return [f"no table: {error}"]
    wrong = [line for (plan, _), cell in cells.items() for line in cell.wrong(STATUS[plan])]
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
    print(f"last success to first failure, median (least to most) of {len(SAMPLES)}, emulated:\n"
          f"{table}timeout 14: nak-first is seen {sooner:.0f} times sooner than seed", flush=True)
    return [] if sooner >= SOONER else [f"nak-first is seen {sooner:.1f} times sooner than seed at "
                                        f"timeout 14; at least {SOONER} times expected"]


SCENARIO = Scenario(
    summary="soft-RoCE of the guest's kernel is the client of our leases",
    script="soft-roce.sh",
    servers=[["--wire", "dgram,local={results}/wire.hca,remote={results}/wire.nic",
              "--pcap", "{results}/wire.pcap"]],
    qemu_arguments=["-netdev", "dgram,id=wire,local.type=unix,local.path={results}/wire.nic,"
                    "remote.type=unix,remote.path={results}/wire.hca",
                    "-device", "virtio-net-pci,netdev=wire,mac=02:50:43:00:00:02"],
    programs=["tools/lease_serve/lease-serve", "tools/lease_verify/lease-verify",
              "tools/roce_peer/roce-peer"],
    judge=show,
    deadline_s=420)
