# SPDX-License-Identifier: BSD-3-Clause
#
# Leases by DevX on devices of Linux's mlx5_ib, whose owner is killed, whose driver is unbound or
# whose device has an internal error. What the fence says then is what may be known.
import re
from pathlib import Path

from scenario import Scenario
from scenarios import devx

# How each audit ends, by a line of its own. The kernel answers in the broken device's place, so
# nothing may rest on what it says of QPs and keys; the pages of the umem it has let go itself. The
# driver goes while a grant, a fence or a sweep is under way, as it happens. It destroys one QP of a
# pair before the other, so that between two fences a WRITE may meet silence before it is flushed.
ENDS = {
    "unbound": r"^fence-audit: .*(outcome=Fenced|Input/output error"
               r"|2RST_QP: the kernel says done, and the device does not answer for it"
               r"|before any revoke: .*IBV_WC_RETRY_EXC_ERR)",
    "broken": r"^fence-audit: the revoke failed: outcome=Fenced .*memory=proved by IOMMU unmap$",
}


def judge(_build: Path, results: Path) -> list[str]:
    wrong = []
    for name, end in ENDS.items():
        lines = (results / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        if not lines or not re.search(end, lines[-1]):
            wrong.append(f"the audit {name} ended with: {lines[-1] if lines else 'nothing'}")
        wrong += [f"{name}: {line}" for line in lines if "TornDown" in line]
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    return wrong + devx.contexts((results / "healthy.trace").read_text(encoding="utf-8")) \
        + re.findall(r"WARNING: .*|BUG: .*|Oops.*", log) + unexpected_faults(log)


def unexpected_faults(log: str) -> list[str]:
    """Of the IOMMU. A device whose firmware is broken may go on with the requests that it has, and
    they fault where the audit has unmapped their pages: that is what proved the memory."""
    broken = re.search(r"mlx5_core \S*(\w\w:\w\w\.\d): .*Fatal error", log)
    before, after = (log[:broken.start()], log[broken.start():]) if broken else (log, "")
    name = re.escape(broken[1]) if broken else ""
    allowed = rf"\[DMA (?:Read|Write) \w+\] Request device \[{name}\]"
    faults = re.compile(r"DMAR: \[.*fault.*")
    return faults.findall(before) + [f for f in faults.findall(after) if not re.search(allowed, f)]


SCENARIO = Scenario(
    summary="leases by DevX whose owner, driver or device goes",
    script="devx_lost.sh",
    variables={"port_type": "ib"},
    servers=[["--trace", "{results}/healthy.trace", "--port-type", "ib"],
             ["--port-type", "ib", "--mac", "02:50:43:00:00:02",
              "--behaviour", "internal-error=7"]],
    programs=["tools/fence_audit/fence-audit"],
    judge=judge)
