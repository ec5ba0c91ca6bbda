# SPDX-License-Identifier: BSD-3-Clause
"""Reads a public header as Doxygen is to see it, and prints that; not a line is added or lost.

    doxygen_filter.py HEADER

In the headers a comment behind a member is about it, the lines at the top are about the file, and
in C the lines above a name are about it. Doxygen wants each of these marked:

    std::uint64_t bytes = 0;  // of the region        ///< of the region
    // Leases on one port: ..                         /// \\file\\n Leases on one port: ..
"""

import re
import sys
from pathlib import Path

LICENCE = "// SPDX-License-Identifier"
BEHIND = re.compile(r"^(\s*[^/\s].*?\S\s{2,})// (.*)$")
ALONE = re.compile(r"^(\s*)// ?(.*)$")


def top(lines: list[str]) -> tuple[list[str], int]:
    """The comment that a header begins with, marked; and how many lines it is."""
    end = next(at for at, line in enumerate(lines) if not line.startswith("//"))
    found = []
    for line in lines[:end]:
        if line.startswith(LICENCE):
            found.append("/// \\file")
            continue
        found.append(example(line) if line.startswith("//   ") else "/" + line)
    return found, end


def example(line: str) -> str:
    """A line of code or of a table: Markdown leaves it as it is from four blanks on."""
    return "///     " + line[5:]


def marked(lines: list[str], is_c: bool) -> list[str]:
    found, at = top(lines)
    column = None  # where the comment behind the last member began
    for line in lines[at:]:
        behind, alone = BEHIND.match(line), ALONE.match(line)
        if behind and not line.lstrip().startswith("#"):
            column = len(behind[1])
            line = f"{behind[1]}///< {behind[2]}"
        elif alone and column is not None and len(alone[1]) == column:
            line = f"{alone[1]}///< {alone[2]}"  # it goes on
        elif alone and is_c and not alone[1]:
            line = f"/// {alone[2]}"
        else:
            column = None
        found.append(line)
    return found


def main() -> int:
    path = Path(sys.argv[1])
    lines = path.read_text(encoding="utf-8").splitlines()
    found = marked(lines, path.suffix == ".h")
    assert len(found) == len(lines)
    # ::ffff:0:0 is an address and names nothing.
    print(re.sub(r"(?<=[\s\"])::(?=[0-9a-f])", r"\::", "\n".join(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
