# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house that a compiler does not know, one function a rule.

    house.py ROOT [RULE ..]     prints path:line: rule: what, exit 1 if anything was found

A rule takes a Tree and yields Findings. house_test.py holds every rule against a tree that breaks
it. Comments and literals never trigger a rule about code: rules that look at code look at
Source.code, where both are blanked with the line structure kept.
"""

import dataclasses
import pathlib
import re
import sys
from collections.abc import Iterator

COLUMNS = 100
FILE_LINES = 800
FUNCTION_LINES = 70

# A -> B: A may include B, and whatever B may. Everyone -> base.
ARROWS = {
    "base": set(),
    "prm": {"base"},
    "trace": {"prm"},
    "pmd": {"prm"},
    "devx": {"pmd"},
    "steering": {"pmd"},
    "lease": {"steering"},
    "neighbour": {"steering"},
    "probes": {"steering"},
    "model": {"trace"},
    "attach": {"pmd", "devx", "model"},
    "failover": {"base"},
    "pfc": {"base"},
    "include": set(),
    "front": {"lease", "neighbour", "attach", "failover", "pfc"},
    "program": {"trace"},
    "proof": {"attach", "lease"},
    "late": {"proof", "pfc"},
    "light": {"proof", "probes", "service"},
    "wire": {"base"},
    "quic": {"wire"},
    "fleet": {"base"},
    "service": {"attach", "lease", "neighbour", "program", "quic", "fleet"},
    "client": {"quic", "failover", "fleet"},
    "bench": {"proof", "service", "client", "probes", "failover", "pfc", "program"},
    "tools": {"late", "light", "proof", "service", "client", "probes", "failover", "pfc", "program",
              "fleet"},
}
FREE = {"tests", "docs"}  # may include everything
LIBRARIES = set(ARROWS) - {"bench", "tools"}  # which hold programs

# Who may include <portcullis/..>, and which headers of the libraries share its words.
DOOR_USERS = {"include", "front", "docs", "tests"}
DOOR_FILES = {
    "base/result.hpp": "Result and Error",
    "pmd/gid.hpp": "Gid and Mac",
}

# The files that may turn memory into device accesses, and why each has to.
BARRIER_FILES = {
    "base/cells.hpp": "ownership bits, doorbells and registers as std::atomic_ref",
    "base/dma_bytes.hpp": "payload bytes that race with DMA by design",
    "base/dma_bytes.cpp": "payload bytes that race with DMA by design",
}
REINTERPRET_CAST_FILES = BARRIER_FILES | {
    "prm/view.hpp": "bytes as layouts",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    what: str


class Source:
    """One text file: `text` as it is, `code` with comments and literals blanked."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.folder = path.split("/")[0] if "/" in path else ""
        self.name = path.rsplit("/")[-1]
        self.is_cpp = path.endswith((".cpp", ".hpp", ".h", ".c"))
        self.is_header = path.endswith((".hpp", ".h"))
        self.is_cmake = self.name == "CMakeLists.txt" or path.endswith(".cmake")
        first = self.lines[0] if self.lines else ""
        self.is_script = path.endswith((".py", ".sh")) or first.startswith("#!")
        self.is_markdown = path.endswith(".md")
        self.code = blank(text, keep_strings=False) if self.is_cpp else text

    def find(self, pattern: str) -> Iterator[tuple[int, re.Match]]:
        for match in re.finditer(pattern, self.code, re.MULTILINE):
            yield self.code.count("\n", 0, match.start()) + 1, match


class Tree:
    """Every text file under a root, but for what a build or a run leaves behind."""

    SKIPPED = {"build", "results", "__pycache__"}

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.sources = []
        for path in sorted(root.rglob("*")):
            parts = path.relative_to(root).parts
            hidden = any(part.startswith(".") and part != ".ci" for part in parts)
            if hidden or self.SKIPPED & set(parts) or not path.is_file():
                continue
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            self.sources.append(Source("/".join(parts), text))
        self.cpp = [s for s in self.sources if s.is_cpp]
        self.cmake = [s for s in self.sources if s.is_cmake]


_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE,
)


def blank(text: str, keep_strings: bool) -> str:
    """Replaces comments (and literals) with spaces; every newline stays where it was."""

    def spaces(match: re.Match) -> str:
        if keep_strings and match.group("comment") is None:
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return _TOKENS.sub(spaces, text)


def reachable(folder: str) -> set[str]:
    seen = {folder, "base"}
    todo = [folder]
    while todo:
        for target in ARROWS.get(todo.pop(), set()) - seen:
            seen.add(target)
            todo.append(target)
    return seen


def beside(source: Source, name: str) -> str:
    """What is installed beside each other has no root: examples include so."""
    examples = "docs/examples/"
    is_bare = source.path.startswith(examples) and "/" not in name and name.endswith(".hpp")
    return examples + name if is_bare else name


def arrows(tree: Tree) -> Iterator[Finding]:
    """Folders include, and their libraries link, along the arrows only."""
    include = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
    for source in tree.cpp:
        if source.folder not in ARROWS.keys() | FREE:
            yield Finding(source.path, 1, f"folder '{source.folder}' has no arrow in house.py")
            continue
        text = blank(source.text, keep_strings=True)
        for match in include.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            target = beside(source, match.group(1))
            if not (tree.root / target).is_file():
                yield Finding(source.path, line, f'"{target}" is no path from the root of the tree')
            elif source.folder in ARROWS:
                folder = target.split("/")[0]
                if folder not in reachable(source.folder):
                    yield Finding(source.path, line, f"{source.folder} may not include {folder}")
    command = re.compile(
        r"\b(?:portcullis_library|target_link_libraries)\s*\(\s*(?:portcullis_)?([\w-]+)([^)]*)\)"
    )
    for source in tree.cmake:
        for match in command.finditer(source.text):
            # A folder's library, or one of the parts that the folder's CMakeLists names.
            name = match.group(1) if match.group(1) in ARROWS else source.folder
            for linked in re.findall(r"\bportcullis_(\w+)", match.group(2)):
                if name in ARROWS and linked in ARROWS.keys() | FREE:
                    if linked not in reachable(name):
                        line = source.text.count("\n", 0, match.start()) + 1
                        yield Finding(source.path, line, f"{name} may not link {linked}")


def front_door(tree: Tree) -> Iterator[Finding]:
    """Installed headers include no private one, and no library behind them leans on them."""
    public = re.compile(r"<(portcullis/\w+\.hpp|tl/expected\.hpp|[a-z_]+|stdint\.h)>")
    for source in tree.cpp:
        if source.folder not in DOOR_USERS and source.path not in DOOR_FILES:
            for line, _ in source.find(r"^[ \t]*#[ \t]*include[ \t]*<portcullis/"):
                yield Finding(source.path, line, f"{source.folder} is behind the front door")
        if source.folder != "include":
            continue
        if not re.fullmatch(r"include/portcullis/\w+\.(hpp|h)", source.path):
            yield Finding(source.path, 1, "not include/portcullis/NAME.hpp")
        text = blank(source.text, keep_strings=True)
        for match in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*(\S+)", text, re.MULTILINE):
            if not public.fullmatch(match.group(1)):
                line = text.count("\n", 0, match.start()) + 1
                yield Finding(source.path, line, f"{match.group(1)} is private")


def orphans(tree: Tree) -> Iterator[Finding]:
    """Every .cpp is built, every header is included, or precompiled."""
    cmake: dict[str, str] = {}  # a folder may have lists beside its CMakeLists.txt
    for source in tree.cmake:
        folder = source.path.rpartition("/")[0]
        cmake[folder] = cmake.get(folder, "") + source.text
    included = set(re.findall(r"<([\w/]+\.hpp)>", "".join(cmake.values())))
    for source in tree.cpp:
        names = re.findall(r'#\s*include\s*["<]([^">]+)[">]', source.text)
        included |= {beside(source, name) for name in names}
    for source in tree.cpp:
        if source.is_header:
            if source.path.removeprefix("include/") not in included:
                yield Finding(source.path, 1, "no file includes it")
            continue
        folder = source.path.rpartition("/")[0]
        inside = ""
        while folder and folder not in cmake:
            folder, _, part = folder.rpartition("/")
            inside = f"{part}/{inside}"
        text = cmake.get(folder, "")
        # foreach(program ..) over names without their .cpp
        looped = "}.cpp" in text and re.search(rf"\b{re.escape(source.name[:-4])}\b", text)
        if inside + source.name not in text and not looped and "GLOB" not in text:
            yield Finding(source.path, 1, f"{folder or '.'}/CMakeLists.txt does not build it")


def spdx(tree: Tree) -> Iterator[Finding]:
    """The licence is one line: the first, or the second after #!."""
    for source in tree.sources:
        if not (source.is_cpp or source.is_script):
            continue
        mark = "//" if source.is_cpp else "#"
        at = 1 if source.lines and source.lines[0].startswith("#!") else 0
        wanted = f"{mark} SPDX-License-Identifier: BSD-3-Clause"
        if len(source.lines) <= at or source.lines[at] != wanted:
            yield Finding(source.path, at + 1, f"expected '{wanted}'")


def width(tree: Tree) -> Iterator[Finding]:
    """100 columns, no tabs, no blanks at the end of a line."""
    for source in tree.sources:
        if not (source.is_cpp or source.is_script or source.is_cmake):
            continue
        for number, line in enumerate(source.lines, 1):
            if len(line) > COLUMNS:
                yield Finding(source.path, number, f"{len(line)} columns, at most {COLUMNS}")
            if "\t" in line:
                yield Finding(source.path, number, "tab")
            if line != line.rstrip():
                yield Finding(source.path, number, "blank at the end of the line")


def file_length(tree: Tree) -> Iterator[Finding]:
    """A file is one subject: 800 lines."""
    for source in tree.sources:
        if source.is_cpp or source.is_script or source.is_cmake:
            if len(source.lines) > FILE_LINES:
                what = f"{len(source.lines)} lines, at most {FILE_LINES}"
                yield Finding(source.path, len(source.lines), what)


def functions(code: str) -> Iterator[tuple[int, int]]:
    """(first line, last line) of every function body at namespace or class scope.

    A brace opens a function when what stands before it since the last ; { } has a parameter list
    and is neither a type nor a namespace. Lambdas and blocks count with the function around them.
    """
    line, head_line, head, stack = 1, 1, "", []
    for char in re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", _newlines, code):
        if char == "\n":
            line += 1
        outside = all(kind == "scope" for kind, _ in stack)
        if char == "{":
            kind = brace_kind(head) if outside else "block"
            stack.append((kind, head_line if head.strip() else line))
            if kind != "member":
                head = ""
        elif char == "}" and stack:
            kind, first = stack.pop()
            if kind == "function":
                yield first, line
            head = head + char if kind == "member" else ""
        elif char == ";" and outside:
            head = ""
        elif outside:
            if not head.strip():
                head_line = line
            head += char


def _newlines(match: re.Match) -> str:
    return "\n" * match.group().count("\n")


def brace_kind(head: str) -> str:
    """What a { opens at namespace or class scope, from the text before it."""
    head = " ".join(head.split())
    if re.search(r"\)[^()]*?(?<!:):(?!:)", head) and re.search(r"[\w>]$", head):
        return "member"  # of an initialiser list: Type(..) : member_{..}
    attribute = r"\[\[.*?\]\]|\b(alignas|__attribute__)\s*\((\([^()]*\)|[^()])*\)"
    plain = re.sub(rf"->|{attribute}", " ", head)
    while (without := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = without
    if "(" not in plain:
        scope = re.search(r"\b(namespace|extern|class|struct|union|enum)\b", plain)
        return "scope" if scope else "block"
    if re.search(r"\b(class|struct|union)\s+[\w:]+( final)?( :[^()]*)?$", plain):
        return "scope"
    return "block" if plain.rstrip().endswith("=") else "function"


def function_length(tree: Tree) -> Iterator[Finding]:
    """A function fits a screen: 70 lines with its signature."""
    for source in tree.cpp:
        for first, last in functions(source.code):
            if last - first + 1 > FUNCTION_LINES:
                what = f"a function of {last - first + 1} lines, at most {FUNCTION_LINES}"
                yield Finding(source.path, first, what)


def hazards(tree: Tree) -> Iterator[Finding]:
    """Device memory is touched through base/cells.hpp and base/dma_bytes.hpp, nowhere else."""
    barriers = (
        r"\b(volatile|__volatile__|asm|__asm__|__sync_synchronize"
        r"|(std::)?atomic_(thread|signal)_fence|__atomic_(thread|signal)_fence"
        r"|_mm_[lsm]fence|__builtin_ia32_[lsm]fence"
        r"|rte_(smp_|io_|cio_)?[rw]?mb|rte_atomic_thread_fence|rte_(read|write)(8|16|32|64)\w*)\b"
    )
    for source in tree.cpp:
        if source.path not in BARRIER_FILES:
            for line, match in source.find(barriers):
                yield Finding(source.path, line, f"{match.group()}: use base/cells.hpp")
        if source.path not in REINTERPRET_CAST_FILES:
            # An address as a number touches no memory.
            for line, _ in source.find(r"\breinterpret_cast\b(?!<std::uintptr_t>)"):
                yield Finding(source.path, line, "reinterpret_cast outside the files that may")


def errors(tree: Tree) -> Iterator[Finding]:
    """A library returns its errors: it neither throws nor ends the process."""
    pattern = (
        r"\bthrow\b"
        r"|(?<![.\w>])(abort|terminate|exit|_exit|quick_exit|rte_panic|rte_exit|assert)(?=\s*\()"
    )
    for source in tree.cpp:
        if source.folder in LIBRARIES:
            for line, match in source.find(pattern):
                yield Finding(source.path, line, f"{match.group()} in a library: return a Result")


def unfinished(tree: Tree) -> Iterator[Finding]:
    """Nothing is left for later in the tree; what is open stands in the tracker."""
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    switched_off = re.compile(r"^[ \t]*#[ \t]*if[ \t]+0\b")
    unmerged = re.compile(r"^(<{7}|>{7}) ")
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            if unmerged.match(line):
                yield Finding(source.path, number, "what a merge left")
            if match := marks.search(line):
                yield Finding(source.path, number, match.group())
            if source.is_cpp and switched_off.search(line):
                yield Finding(source.path, number, "code that is switched off")
            if source.is_cpp and re.search(r"NOLINT(NEXTLINE|BEGIN)?(?![A-Z(])", line):
                yield Finding(source.path, number, "NOLINT that names no check: NOLINT(check)")


def test_habits(tree: Tree) -> Iterator[Finding]:
    """Tests run, all of them, without a clock, a friend or another file's source."""
    for source in tree.cpp:
        if source.folder != "tests":
            continue
        for line, match in source.find(r"\bDISABLED_\w+|\bGTEST_SKIP\b|\bFRIEND_TEST\b"):
            yield Finding(source.path, line, f"{match.group()}: a test runs or does not exist")
        for line, match in source.find(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b"):
            yield Finding(source.path, line, f"{match.group()}: wait for a state, with a deadline")
        for number, text in enumerate(source.lines, 1):
            if re.match(r'\s*#\s*include\s*["<][^">]*\.(cpp|cc|c)[">]', text):
                yield Finding(source.path, number, "a test that includes a source file")


def links(tree: Tree) -> Iterator[Finding]:
    """What a document links to inside the tree is there."""
    for source in tree.sources:
        if not source.is_markdown:
            continue
        folder = (tree.root / source.path).parent
        for number, line in enumerate(source.lines, 1):
            for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", line):
                if "://" not in target and not target.startswith("mailto:"):
                    if not (folder / target).exists():
                        yield Finding(source.path, number, f"no file {target}")


def citations(tree: Tree) -> Iterator[Finding]:
    """A document that nobody outside can open is cited by the name of the page that tells it."""
    pages = {"0": "failover", "1": "floor", "2": "PFC"}
    # A number of its own; neither part of another number nor the offset of a dumped row.
    number_alone = re.compile(r"(?<![\w.',:/+-])00([0-2])(?!\w|[.',:/-]\d|: [0-9a-f]{8})")
    for source in tree.sources:
        if not (source.is_cpp or source.is_script or source.is_markdown or
                source.path.endswith(".v")):
            continue
        for number, line in enumerate(source.lines, 1):
            if match := number_alone.search(line):
                page = pages[match.group(1)]
                yield Finding(source.path, number, f"'{match.group()}': say 'the {page} document, "
                                                   f"section ..' (docs/{page.lower()}-document.md)")


RULES = {
    rule.__name__: rule
    for rule in (arrows, front_door, orphans, spdx, width, file_length, function_length, hazards,
                 errors, unfinished, test_habits, links, citations)
}


def main(arguments: list[str]) -> int:
    if not arguments or not set(arguments[1:]) <= set(RULES):
        print(f"usage: house.py ROOT [RULE ..], a RULE is one of {' '.join(RULES)}",
              file=sys.stderr)
        return 2
    tree = Tree(pathlib.Path(arguments[0]))
    if not tree.cpp:
        print(f"{arguments[0]}: no C++ source found, expected the root of the tree",
              file=sys.stderr)
        return 2
    found = 0
    for name in arguments[1:] or RULES:
        for finding in RULES[name](tree):
            print(f"{finding.path}:{finding.line}: {name}: {finding.what}")
            found += 1
    print(f"{len(tree.sources)} files, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
