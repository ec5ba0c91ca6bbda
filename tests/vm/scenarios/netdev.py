# SPDX-License-Identifier: BSD-3-Clause
#
# Linux's own Ethernet driver, unmodified: two functions that offer its data path, one wire between
# them. What the driver says in the kernel's log at the level of a warning or above is a fault.
import json
import re
import subprocess
from pathlib import Path

from scenario import Scenario
from scenarios import mlx5_core

# Functions with all that an interface needs, on one wire; of other scenarios as well.
ONE = ["--behaviour", "eth-offloads", "--trace", "{results}/one.trace",
       "--wire", "stream,listen={results}/wire"]
TWO = ["--behaviour", "eth-offloads", "--trace", "{results}/two.trace",
       "--wire", "stream,connect={results}/wire", "--mac", "02:50:43:00:00:02"]

# Of what mlx5_core says on a function without offloads, what it still says here.
EXPLAINED = [line for line in mlx5_core.EXPLAINED if "eth_net_offloads" not in line] + [
    # Linux 6.1 says so of a function without ignore_flow_level, which TC rules over several tables
    # need; later ones say it at debug level (mlx5e_tc_post_act_init). Cards are seen to say it too.
    r"mlx5e_tc_post_act_init: firmware level support is missing",
    # With rx_cqe_compress (mlx5e_fix_features of en_main.c). Logs of cards show the line.
    r"Disabling rxhash, not supported when CQE compress is active",
]


def counters(path: Path) -> dict[str, int]:
    """What ethtool -S printed."""
    return {name: int(value) for name, value in
            re.findall(r"^\s+(\S+): (\d+)$", path.read_text(encoding="utf-8"), re.M)}


def judge(_build: Path, results: Path) -> list[str]:
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    wrong = [f"mlx5_core says: {line}" for line in mlx5_core.lines_of_the_driver(log)
             if not any(re.search(known, line) for known in EXPLAINED)]
    wrong += re.findall(r"WARNING: .*|BUG: .*|Oops.*", log)
    for when in ("before", "after"):
        one, two = (counters(results / f"ethtool_{name}_{when}.txt") for name in ("one", "two"))
        wrong += wrong_counts("one", one) + wrong_counts("two", two)
        # Of a stream of TCP a busy machine's socket may lose some (docs/hca-server.md), and TCP
        # sends them again.
        if when == "before":
            wrong += wrong_casts("one", one, two) + wrong_casts("two", two, one)
    wrong += wrong_tags(results / "one.pcap")
    for way in ("one_two", "two_one"):
        wrong += wrong_stream(way, results / f"iperf_{way}.json")
    for way in ("compressed", "compressed_back"):
        wrong += wrong_stream(way, results / f"iperf_{way}.json")
    for name in ("one", "two"):
        counts = counters(results / f"ethtool_{name}_compressed.txt")
        print(f"   {name}: {counts['rx_cqe_compress_pkts']} frames in "
              f"{counts['rx_cqe_compress_blks']} blocks of completions")
        if not counts["rx_cqe_compress_blks"]:
            wrong.append(f"{name}: no completion came compressed")
    wrong += wrong_pace(results / "iperf_paced.json")
    return wrong


def wrong_tags(wire: Path) -> list[str]:
    """Of the pings in the VLAN each frame on the wire has its tag, whoever puts it in: four times
    ten, and their answers. As tshark reads them."""
    said = subprocess.run(["tshark", "-r", wire, "-Y", "icmp && ip.addr == 198.51.7.0/24", "-T",
                           "fields", "-e", "vlan.id"], capture_output=True, text=True, check=True)
    tags = said.stdout.splitlines()
    return [] if tags == ["7"] * 80 else [f"VLAN: 80 tags of 7 are wanted, the wire has {tags}"]


def wrong_stream(way: str, path: Path) -> list[str]:
    """What iperf3 counted: said, and wrong only where no byte came. No throughput is aimed at."""
    end = json.loads(path.read_text(encoding="utf-8")).get("end", {})
    if not end.get("sum_received", {}).get("bytes"):
        return [f"TCP {way}: no byte came"]
    received, sent = end["sum_received"], end["sum_sent"]
    print(f"   TCP {way}: {received['bits_per_second'] / 1e6:.0f} Mbit/s in this machine, "
          f"{sent.get('retransmits', 'uncounted')} segments sent again")
    return []


def wrong_pace(path: Path) -> list[str]:
    """One stream leaves by one queue, whose 8 Mbit/s mlx5e_set_tx_maxrate makes 8192 kbit/s of.
    What comes is less by the headers, and by what a busy machine takes, which may be much."""
    end = json.loads(path.read_text(encoding="utf-8")).get("end", {})
    kbps = end.get("sum_received", {}).get("bits_per_second", 0) / 1000
    return [] if 1000 < kbps < 8192 else [f"TCP at 8192 kbit/s: {kbps:.0f} kbit/s came"]


def wrong_casts(name: str, counts: dict[str, int], other: dict[str, int]) -> list[str]:
    """Of what `name` sent and `other` received. A frame for a group to which nobody listens comes
    to nobody on this wire, so groups are not compared."""
    frames = {cast: (counts[f"tx_vport_{cast}_packets"], other[f"rx_vport_{cast}_packets"])
              for cast in ("unicast", "broadcast")}
    return [f"{name}: {sent} {cast} frames sent, {came} came"
            for cast, (sent, came) in frames.items() if sent != came]


def wrong_counts(name: str, counts: dict[str, int]) -> list[str]:
    """mlx5e knows no sum of what is not IP: of ARP, whose frames are the shortest there are."""
    wrong = [f"{name}: {key} is {value}" for key, value in counts.items()
             if value and re.search(r"_err|discards_phy|recover", key)]
    # Of a frame that may be padded (an acknowledgement of TCP) mlx5e takes the device's verdict
    # instead of its sum: short_frame() in en_rx.c.
    short = counts["rx_csum_none"] + counts["rx_csum_unnecessary"]
    if counts["rx_csum_complete"] + short != counts["rx_packets"]:
        wrong.append(f"{name}: of {counts['rx_packets']} frames not each has a sum or has none")
    if short > counts["rx_64_bytes_phy"]:
        wrong.append(f"{name}: {short} frames without a sum, and {counts['rx_64_bytes_phy']} that "
                     "are short")
    return wrong


SCENARIO = Scenario(
    summary="Linux mlx5e: two netdevs on one wire, ping, MTU 1500 and 9000, VLANs, TCP",
    script="netdev.sh",
    servers=[[*ONE, "--pcap", "{results}/one.pcap"], TWO],
    judge=judge,
    is_long=True)
