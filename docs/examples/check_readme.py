# SPDX-License-Identifier: BSD-3-Clause
#
# The README's C++ is a part of the example that is built: every line of its block stands in the
# source, in the same order, white space aside.
"""usage: check_readme.py README.md SOURCE.cpp"""

import re
import sys
from pathlib import Path


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


def main() -> int:
    readme, source = (Path(name).read_text(encoding="utf-8") for name in sys.argv[1:3])
    blocks = re.findall(r"```cpp\n(.*?)```", readme, re.S)
    if not blocks:
        print("README.md has no C++ block")
        return 1
    assert missing_line("no such line", source) is not None  # the check can fail
    for block in blocks:
        line = missing_line(block, source)
        if line is not None:
            print(f"README.md shows a line that the example does not have: {line}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
