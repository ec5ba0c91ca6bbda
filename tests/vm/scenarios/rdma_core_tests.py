# SPDX-License-Identifier: BSD-3-Clause
#
# rdma-core's own tests over Linux's mlx5_ib, unmodified, on a port of type ib; rdma_core_tests_eth
# has the other type. What each test that does not pass is expected to come to, and why, stands in
# rdma_core_tests.json, on both types or on one. The list is exact: a test that does better is as
# wrong as one that does worse, so it never grows stale.
import collections
import json
import re
from pathlib import Path

from scenario import Scenario

WAITS = ["--port-type", "ib", "--behaviour", "outside-sm"]
EXPECTED = Path(__file__).with_suffix(".json")


def expected(text: str, port_type: str) -> dict[str, tuple[str, str]]:
    """Of each test that is not expected to pass there: what it comes to, and why."""
    listed = json.loads(text)
    return {f"tests.{test}": (outcome, why)
            for ports in ("both", port_type)
            for outcome, reasons in listed.get(ports, {}).items()
            for why, tests in reasons.items() for test in tests}


def compare(found: list[dict], listed: dict[str, tuple[str, str]]) -> list[str]:
    """One line for each test that did not come to what the list says."""
    wrong = []
    for line in found:
        wanted, why = listed.get(line["test"], ("passed", ""))
        if line["outcome"] != wanted:
            said = f" ({line['why'].splitlines()[0]})" if line["why"] else ""
            wrong.append(f"{line['test']} {line['outcome']}{said}, expected: {wanted}"
                         + (f", because {why}" if why else ""))
    seen = {line["test"] for line in found}
    return wrong + [f"{test} is listed and did not run" for test in listed if test not in seen]


def table(found: list[dict]) -> str:
    """Of each module how many tests passed, were skipped and failed; then why they did not."""
    counts = collections.defaultdict(collections.Counter)
    for line in found:
        for row in (line["test"].split(".")[1], "all"):
            counts[row][line["outcome"]] += 1
    rows = [f"{'module':24} {'passed':>6} {'skipped':>7} {'failed':>6}"]
    rows += [f"{row:24} {count['passed']:6} {count['skipped']:7} {count['failed']:6}"
             for row, count in sorted(counts.items(), key=lambda item: (item[0] == "all", item))]
    whys = collections.Counter((line["outcome"], line["why"].split("\n")[0])
                               for line in found if line["outcome"] != "passed")
    return "\n".join(rows + [""] + [f"{count:4} {outcome}: {why}"
                                    for (outcome, why), count in sorted(whys.items())]) + "\n"


def judge(_build: Path, results: Path, port_type: str = "ib") -> list[str]:
    suite = results / "suite" / "tests.jsonl"
    if not suite.is_file():
        return ["no test ran"]
    found = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    (results / "table.txt").write_text(table(found), encoding="utf-8")
    print("\n".join("  | " + line for line in table(found).splitlines()), flush=True)
    log = (results / "dmesg.txt").read_text(encoding="utf-8", errors="replace")
    return compare(found, expected(EXPECTED.read_text(encoding="utf-8"), port_type)) \
        + re.findall(r"WARNING: .*|BUG: .*|Oops.*|.* timeout\. Will cause a leak.*", log)


SCENARIO = Scenario(
    summary="rdma-core's own tests over Linux mlx5_ib on an InfiniBand port",
    script="rdma_core_tests.sh",
    variables={"port_type": "ib"},
    # opensm numbers no port whose link has no other end. The tests run on the first one.
    servers=[[*WAITS, "--trace", "{results}/mlx5_ib.trace", "--wire",
              "stream,listen={results}/wire"],
             [*WAITS, "--mac", "02:50:43:00:00:02", "--wire", "stream,connect={results}/wire"]],
    judge=judge,
    # The tests make completion queues of 256 MiB: page by page they are more ranges than vfio-user
    # may map (docs/hca-server.md). Other scenarios have the function behind the IOMMU.
    kernel_arguments="iommu=pt",
    deadline_s=5400,
    is_long=True)
