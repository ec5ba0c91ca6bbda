# SPDX-License-Identifier: BSD-3-Clause
#
# first-light over Linux VFIO, on a PF and on a VF, against models that keep and break promises.
# What it concludes is held against what the model was told to be.
import subprocess
from pathlib import Path

from scenario import Scenario

# Longer than the commands of a fence take in a guest.
SLOW = "data-path-ns=2000000"
# Sentences that these switches make true or false; the others are true of every model here.
NOT_SO = {
    "kept": {"nic-rx-bypassed"},
    "broken": {"A1", "contract", "rdma-rx-in-path", "nic-rx-bypassed", "bth-opcode", "bth-dst-qp",
               "running-qp"},
    "virtual": {"bth-opcode", "nic-rx-bypassed"},
}
# What each must have come to, so that "undecided" of everything is no success.
MUST = {
    "kept": {"loopback": "confirmed", "mkc-qpn-taken": "confirmed", "mkc-qpn-checked": "confirmed",
             "rdma-rx-in-path": "confirmed", "contract": "confirmed", "nak": "confirmed"},
    "broken": {"loopback": "confirmed", "rdma-rx-in-path": "refuted"},
    "virtual": {"loopback": "confirmed", "rdma-rx-in-path": "confirmed", "bth-opcode": "refuted",
                "contract": "confirmed"},
}
# Of a client on rdma_rxe. What its own timers do nobody told the model.
FAR = {"peer-reached": "confirmed", "peer-silence": "confirmed", "peer-nak": "confirmed"}
ANSWERS = ("confirmed", "refuted", "undecided", "not run")


def conclusions(bundle: Path) -> dict[str, str]:
    """Of the bundle's own page: each hypothesis and its answer."""
    text = subprocess.run(["tar", "--zstd", "-xOf", bundle, "conclusions.txt"], check=True,
                          capture_output=True, text=True).stdout
    return {line[len(answer):].split()[0]: answer for line in text.splitlines()
            for answer in ANSWERS if line.startswith(answer + " ")}


def judge(_build: Path, results: Path) -> list[str]:
    wrong = []
    for name in NOT_SO:
        found = conclusions(results / f"{name}-peer.tar.zst")
        print(f"{name}, peer: " + ", ".join(f"{key} {answer}" for key, answer in found.items()
                                            if key.startswith("peer-")), flush=True)
        wrong += [f"{name}: {key} {found.get(key)}, {answer} expected"
                  for key, answer in FAR.items() if found.get(key) != answer]
        if found.get("peer-ended") == "refuted" and name != "broken":
            wrong.append(f"{name}: peer-ended refuted, and its fences hold")
    for name, not_so in NOT_SO.items():
        found = conclusions(results / f"{name}.tar.zst")
        print(f"{name}: " + ", ".join(f"{key} {answer}" for key, answer in found.items()),
              flush=True)
        wrong += [f"{name}: {key} {answer}, and the model was told otherwise"
                  for key, answer in found.items()
                  if (answer == "confirmed" and key in not_so)
                  or (answer == "refuted" and key not in not_so)]
        wrong += [f"{name}: {key} {found.get(key)}, {answer} expected"
                  for key, answer in MUST[name].items() if found.get(key) != answer]
    return wrong


def wire(number: int) -> list[str]:
    return ["--wire", f"dgram,local={{results}}/{number}.hca,remote={{results}}/{number}.nic"]


def far_nic(number: int) -> list[str]:
    return ["-netdev", f"dgram,id=wire{number},local.type=unix,local.path={{results}}/{number}.nic,"
            f"remote.type=unix,remote.path={{results}}/{number}.hca",
            "-device", f"virtio-net-pci,netdev=wire{number},mac=02:50:43:00:01:0{number}"]


SCENARIO = Scenario(
    summary="first-light over VFIO, on a PF, a VF, and with a peer: conclusions are so, kill -9",
    script="first_light.sh",
    servers=[[*wire(1), "--behaviour", SLOW + "+rdma-rx-in-path+link-up-ms=1500"],
             [*wire(2), "--behaviour", SLOW + "+a1-off+pmtu=1522"],
             [*wire(3), "--vf", "--behaviour",
              "rdma-rx-in-path+bth-opcode-not-parsed+vf-needs-uc-list"]],
    qemu_arguments=[word for number in (1, 2, 3) for word in far_nic(number)],
    judge=judge,
    programs=["tools/first_light/first-light", "tools/lease_verify/lease-verify",
              "tests/tools/first_light/stopped-first-light"],
    is_long=True)
