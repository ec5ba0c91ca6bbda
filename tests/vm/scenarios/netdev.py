# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's own Ethernet driver, unmodified: two functions that offer its data path, one wire between
# them. What the driver says in the kernel's log at the level of a warning or above is a fault.
import re
from pathlib import Path

from scenario import Scenario
from scenarios import mlx5_core


# Of what mlx5_core says on a function without offloads, what it still says here.
EXPLAINED = [line for line in mlx5_core.EXPLAINED if "eth_net_offloads" not in line]


def counters(path: Path) -> dict[str, int]:
    """What ethtool -S printed."""
    return {name: int(value) for name, value in
            re.findall(r"^\s+(\S+): (\d+)$", path.read_text(encoding="utf-8"), re.M)}


def judge(_build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    wrong = [f"mlx5_core says: {line}" for line in mlx5_core.lines_of_the_driver(log)
             if not any(re.search(known, line) for known in EXPLAINED)]
    wrong += re.findall(r"WARNING: .*|BUG: .*|Oops.*", log)
    one = counters(results / "ethtool_one.txt")
    two = counters(results / "ethtool_two.txt")
    return wrong + wrong_counts("one", one, two) + wrong_counts("two", two, one)


def wrong_counts(name: str, counts: dict[str, int], other: dict[str, int]) -> list[str]:
    """Of what `name` sent and `other` received. A frame for a group to which nobody listens comes
    to nobody on this wire, so groups are not compared. mlx5e knows no sum of what is not IP: of
    ARP, whose frames are the shortest there are."""
    wrong = [f"{name}: {key} is {value}" for key, value in counts.items()
             if value and re.search(r"_err|discards_phy|recover", key)]
    for cast in ("unicast", "broadcast"):
        sent, came = counts[f"tx_vport_{cast}_packets"], other[f"rx_vport_{cast}_packets"]
        if sent != came:
            wrong.append(f"{name}: {sent} {cast} frames sent, {came} came")
    if counts["rx_csum_complete"] + counts["rx_csum_none"] != counts["rx_packets"]:
        wrong.append(f"{name}: of {counts['rx_packets']} frames not each has a sum or has none")
    if counts["rx_csum_none"] > counts["rx_64_bytes_phy"]:
        wrong.append(f"{name}: {counts['rx_csum_none']} frames without a sum, and "
                     f"{counts['rx_64_bytes_phy']} that may be ARP")
    return wrong


SCENARIO = Scenario(
    summary="Linux mlx5e: two netdevs on one wire, ping over IPv4 and IPv6, MTU 1500 and 9000",
    script="netdev.sh",
    servers=[["--behaviour", "eth-offloads", "--trace", "{results}/one.trace",
              "--wire", "stream,listen={results}/wire", "--pcap", "{results}/one.pcap"],
             ["--behaviour", "eth-offloads", "--trace", "{results}/two.trace",
              "--wire", "stream,connect={results}/wire", "--mac", "02:50:43:00:00:02"]],
    judge=judge,
    is_long=True)
