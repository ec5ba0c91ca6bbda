# SPDX-License-Identifier: BSD-3-Clause
#
# The recordings of Linux's bring-up and of ours, compared; docs/kernel-parity.md must have each
# difference, and nothing else.
import json
import re
import subprocess
from pathlib import Path

from scenario import SOURCE, Scenario

DOCUMENT = SOURCE / "docs/kernel-parity.md"


def title(command: str) -> str:
    """"QUERY_PAGES 0x107 op_mod 0x1 .." without the opcode's number and what follows op_mod."""
    name, op_mod = re.match(r"(\w+) 0x[0-9a-f]+ op_mod (0x[0-9a-f]+)", command).groups()
    return f"{name} op_mod {op_mod}"


def found(comparison: dict) -> set[tuple[str, str]]:
    """(command, field), the field empty for commands that only one of them has."""
    rows = set()
    for difference in comparison["differences"]:
        fields = [field["field"] for field in difference.get("fields", [])] or [""]
        rows |= {(title(difference["command"]), field) for field in fields}
    return rows


def documented(text: str) -> set[tuple[str, str]]:
    rows = re.findall(r"^\| ([A-Z_0-9]+ op_mod \w+) \| ([^|]*)\|", text, re.M)
    return {(command, field.strip()) for command, field in rows}


def compare(build: Path, results: Path) -> list[str]:
    program = build / "tools/trace/trace-diff"
    done = subprocess.run([program, "--json", results / "linux.trace", results / "ours.trace"],
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1):
        return [f"trace-diff: {done.stderr.strip()}"]
    comparison = json.loads(done.stdout)
    (results / "comparison.json").write_text(done.stdout, encoding="utf-8")
    if comparison["same"] == 0:
        return ["the recordings have no command in common"]
    happens, written = found(comparison), documented(DOCUMENT.read_text(encoding="utf-8"))
    name = DOCUMENT.relative_to(SOURCE)
    return [f"{name} does not explain {' '.join(row).strip()}"
            for row in sorted(happens - written)] + \
        [f"{name} explains {' '.join(row).strip()}, which does not differ"
         for row in sorted(written - happens)]


SCENARIO = Scenario(
    summary="our bring-up against Linux's, command by command, each difference explained",
    script="trace.sh",
    servers=[["--trace", "{results}/linux.trace"], ["--trace", "{results}/ours.trace"]],
    programs=["tools/trace/trace-diff", "tests/device/device_test"],
    judge=compare)
