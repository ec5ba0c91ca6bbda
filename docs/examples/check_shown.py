# SPDX-License-Identifier: BSD-3-Clause
"""What documents and headers show is a part of what is built.

    check_shown.py README.md SOURCE.cpp     every line of its C++ blocks stands in the source, in
                                            the same order, white space aside
    check_shown.py HEADERS_FOLDER EXAMPLES_FOLDER
                                            the same of every header's "Example, FILE.cpp:"
"""

import re
import sys
from pathlib import Path

WITHOUT_EXAMPLE = {"export.hpp"}  # has nothing to call


def missing_line(block: str, source: str) -> str | None:
    """The first line of `block` that does not follow in `source`; None when all do."""
    at = 0
    lines = [line.strip() for line in source.splitlines()]
    for line in (line.strip() for line in block.splitlines()):
        if not line:
            continue
        if line not in lines[at:]:
            return line
        at = lines.index(line, at) + 1
    return None


def readme_findings(readme: Path, source: Path) -> list[str]:
    blocks = re.findall(r"```cpp\n(.*?)```", readme.read_text(encoding="utf-8"), re.S)
    if not blocks:
        return [f"{readme.name} has no C++ block"]
    text = source.read_text(encoding="utf-8")
    lines = [missing_line(block, text) for block in blocks]
    return [f"{readme.name} shows a line that {source.name} has not: {l}" for l in lines if l]


def header_findings(headers: Path, examples: Path) -> list[str]:
    findings = []
    for header in sorted(headers.glob("*.hpp")):
        if header.name in WITHOUT_EXAMPLE:
            continue
        shown = re.search(r"^// Example, (\w+\.cpp):\n((?://   .*\n)+)",
                          header.read_text(encoding="utf-8"), re.M)
        if shown is None:
            findings.append(f"{header.name} shows no example")
            continue
        block = re.sub(r"^//", "", shown.group(2), flags=re.M)
        line = missing_line(block, (examples / shown.group(1)).read_text(encoding="utf-8"))
        if line is not None:
            findings.append(f"{header.name} shows a line that {shown.group(1)} has not: {line}")
    return findings


def main() -> int:
    shown, source = (Path(name) for name in sys.argv[1:3])
    assert missing_line("no such line", "source") is not None  # the check can fail
    findings = header_findings(shown, source) if shown.is_dir() else readme_findings(shown, source)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
