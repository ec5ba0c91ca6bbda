# SPDX-License-Identifier: BSD-3-Clause
#
# The link of an Ethernet port goes down, and the firmware of its card is loaded again by Linux's
# devlink, unmodified, while processes hold leases by DevX there. What a revoke says then is what
# may be known.
#
# QEMU's root port must not be one for hot plugging: mlx5_core refuses to reset a card behind such
# a one (mlx5_check_hotplug_interrupt of mlx5/core/fw_reset.c). Nor may it say that it reports
# whether its link is active, which every faster one than 2.5 GT/s says: QEMU 11.1 leaves the bit
# for it clear (PCI_EXP_LNKSTA_DLLLA), and mlx5_pci_link_toggle waits for that in vain.
import re
from pathlib import Path

import rdma_log
from scenario import Scenario

# What mlx5_core says at the level of a warning about each reset that it is asked for, and why that
# is no fault.
EXPLAINED = {
    r"PCI Sync FW Update Reset Nack Sent": "the host had forbidden it",
    r"PCI Sync FW Update Reset Ack\. Device reset is expected\.": "the host agreed",
    r"Sync Reset now\. Device is going to reset\.": "the reset that was asked for",
    r"No PCI link reporting capability": "QEMU's root port has none at 2.5 GT/s",
    r"Disabling rxhash, not supported when CQE compress is active":
        "mlx5e compresses completions where the slot is slower than the link, as here",
    r"mlx5e_tc_post_act_init: firmware level support is missing":
        "as in scenario netdev: of Linux 6.1, later ones say it at debug level",
    r"Skipping wait for vf pages stage": "the driver takes a device that is reset for broken",
}
RESETS = 2
# A device that answers is believed. One that is switched off does not answer, and the kernel that
# takes it for broken answers in its place: nothing of that proves anything, but for the pages that
# the kernel has taken out of a strict IOMMU domain by itself.
TORN_DOWN = r" TornDown, memory proved by DESTROY_MKEY,.*\nstatus 0$"
FENCED = (r" Fenced \(failed 2ERR_QP\|DESTROY_MKEY\|.*\), memory (unproved|proved by unmap),.*"
          r"\nstatus 3$")
REVOKES = {"link_down": TORN_DOWN, "during": FENCED, "behind": FENCED, "new": TORN_DOWN}
# The device goes while a grant, the first WRITEs, a fence or a sweep is under way, as it happens.
AUDIT_END = (r"^fence-audit: .*(outcome=Fenced|Input/output error|No such device"
             r"|Link has been severed|told that the device is broken"
             r"|the clients' first WRITEs did not complete within 60 s"
             r"|before any revoke: .*IBV_WC_RETRY_EXC_ERR)")


def outcomes(results: Path) -> list[str]:
    wrong = []
    for name, wanted in REVOKES.items():
        said = (results / f"{name}.revoke").read_text(encoding="utf-8").strip()
        if not re.search(wanted, said):
            wrong.append(f"the revoke {name} came to: {said}")
    lines = (results / "under_audit.txt").read_text(encoding="utf-8").splitlines()
    if not lines or not re.search(AUDIT_END, lines[-1]):
        wrong.append(f"the audit ended with: {lines[-1] if lines else 'nothing'}")
    return wrong + [f"the audit says: {line}" for line in lines if "TornDown" in line]


def judge(_build: Path, results: Path) -> list[str]:
    said = (results / "devlink.txt").read_text(encoding="utf-8")
    done = len(re.findall(r"^\s*driver_reinit fw_activate$", said, re.M))
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    wrong = [] if done == RESETS else [f"devlink loaded the firmware {done} times, not {RESETS}"]
    return wrong + outcomes(results) + rdma_log.unexplained(log, EXPLAINED)


SCENARIO = Scenario(
    summary="the link goes down, and devlink loads the firmware again, under leases by DevX",
    script="devlink_reset.sh",
    servers=[["--trace", "{results}/devlink_reset.trace", "--behaviour", "eth-offloads"]],
    qemu_arguments=["-global", "pcie-root-port.hotplug=off",
                    "-global", "pcie-root-port.x-speed=2_5"],
    is_long=True,
    programs=["tools/fence_audit/fence-audit", "tools/leased/leased", "tools/leasectl/leasectl"],
    judge=judge)
