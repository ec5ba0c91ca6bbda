# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's own driver, unmodified, on the model: what it says in the kernel's log, each line, and
# what it left with the firmware.
import re
from pathlib import Path

from scenario import Scenario

# Lines that mlx5_core prints here at the level of a warning or above, and why they are no fault.
EXPLAINED = {
    r"mlx5_pci_vsc_init: Failed to get valid vendor specific ID":
        "a card in a virtual machine that hides the vendor-specific capability, the gateway to "
        "crash dumps, makes Linux say so, and the model with behaviour crash-dump=absent",
    r"mlx5_eth_supported: Missing eth_net_offloads capability":
        "the model is an RDMA device without an Ethernet data path and does not claim one, so "
        "Linux makes no network interface; a card has the capability",
}


def lines_of_the_driver(log: str) -> list[str]:
    """What mlx5_core said with dev_warn or worse (include/linux/dev_printk.h: <0> to <4>), without
    time, PCI address, source line and process."""
    said = re.findall(r"^<[0-4]>\[[^\]]*\] mlx5_core \S+ (.*)$", log, re.M)
    return [re.sub(r":\d+:\(pid \d+\)", "", line) for line in said]


def firmware_pages(recording: str) -> int:
    """Pages given less pages returned, by the MANAGE_PAGES that succeeded (op_mod 1 and 2:
    MLX5_PAGES_GIVE, MLX5_PAGES_TAKE of mlx5_core/pagealloc.c)."""
    held = 0
    for command in recording.split("\ncommand "):
        for op_mod, field, sign in ((1, "in.input", 1), (2, "out.output", -1)):
            number = re.search(rf"^{field}_num_entries (0x[0-9a-f]+)", command, re.M)
            if f"MANAGE_PAGES 0x108 op_mod 0x{op_mod}\n" in command and number is not None \
                    and "\nstatus OK" in command:
                held += sign * int(number[1], 16)
    return held


def judge(_build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    wrong = [f"mlx5_core says: {line}" for line in lines_of_the_driver(log)
             if not any(re.search(known, line) for known in EXPLAINED)]
    wrong += re.findall(r"WARNING: .*|BUG: .*|Oops.*", log)
    recording = (results / "mlx5_core.trace").read_text(encoding="utf-8")
    if "MANAGE_PAGES" not in recording:
        wrong.append("the recording has no MANAGE_PAGES")
    if held := firmware_pages(recording):
        wrong.append(f"{held} pages are left with the firmware")
    return wrong


SCENARIO = Scenario(
    summary="Linux mlx5_core binds, stays healthy for a minute, unbinds, binds again",
    script="mlx5_core.sh",
    servers=[["--trace", "{results}/mlx5_core.trace"]],
    judge=judge)
