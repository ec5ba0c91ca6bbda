# SPDX-License-Identifier: BSD-3-Clause
"""Where a C++ source can be broken on purpose, and how: the operators of the mutation test.

mutants_of() reads one source and returns every mutant of it, in the order of the text. Comments and
literals are blanked first (house.blank keeps every offset), so nothing in them is ever changed. An
operator knows no types: what does not compile afterwards is not counted.
"""

import dataclasses
import pathlib
import re
import sys
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "house"))
import house  # noqa: E402

OPERATORS = ("drop", "swap", "ignore", "time", "negate", "init")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`old` of `path` from `start` on becomes `new`."""

    path: str
    operator: str
    start: int
    line: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        assert text[self.start:self.start + len(self.old)] == self.old
        return text[:self.start] + self.new + text[self.start + len(self.old):]

    def describe(self) -> str:
        return f"{_one_line(self.old)}  ->  {_one_line(self.new) or '(nothing)'}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


@dataclasses.dataclass(frozen=True)
class Statement:
    start: int
    end: int  # behind its ';'
    code: str  # blanked


OPEN, CLOSE = "([{", ")]}"
BLOCK = re.compile(r"(else|for|while|do|switch|case|default|public|private|protected)\b")
GUARD = re.compile(r"if\s*\(")
DECLARES = re.compile(
    r"(const|constexpr|auto|static|using|struct|class|enum|typedef|template|return|break|continue"
    r"|goto|PORTCULLIS_TRY_ASSIGN|static_assert|unsigned|bool|int|double|char|std::\w+(<.*?>)?\s+\w"
    r"|[A-Za-z_][\w:]*(<[^;=]*?>)?[&*]*\s+(const\s+)?[&*]*[A-Za-z_]\w*\s*(=|;|\{|\())")


# A call that acts: no assignment, and no field of a mailbox, whose order nobody sees.
STEP = re.compile(
    r"(?!if\b|return\b|put_|PORTCULLIS_TRY_ASSIGN|static_assert)"
    r"(PORTCULLIS_TRY|\(void\)|[\w:]+(\(\))?((\.|->)(?!set\b|push_back)\w+)*)\s*\(")


def statements(code: str, first: int, last: int) -> Iterator[Statement]:
    """The statements without a block of code[first:last], a function with its braces."""
    at = code.index("{", first) + 1
    fresh, depth = True, 0  # the next word begins a statement; how many ( are open
    while at < last:
        char = code[at]
        depth += (char == "(") - (char == ")")
        if char in "{};":
            fresh = depth == 0
        elif not char.isspace() and fresh:
            end = _end_of(code, at, last)
            if end is not None:
                yield Statement(at, end, code[at:end])
                at = end
                continue
            fresh = False
        at += 1


def _end_of(code: str, at: int, last: int) -> int | None:
    """Behind the ';' of a simple statement or of a guard; None when a block begins here."""
    if BLOCK.match(code, at):
        return None
    depth, is_guard = 0, GUARD.match(code, at) is not None
    for i in range(at, last):
        char = code[i]
        if char == "{" and depth == 0 and is_guard:
            return None
        if char in OPEN:
            depth += 1
        elif char in CLOSE:
            depth -= 1
            if depth < 0:
                return None
        elif char == ";" and depth == 0:
            return i + 1
    return None


def _is_plain(statement: Statement) -> bool:
    """An expression: can be left out or change places without a name getting lost."""
    return not GUARD.match(statement.code) and not DECLARES.match(statement.code)


def _dropped(source: house.Source, found: list[Statement]) -> Iterator[Mutant]:
    for s in found:
        is_guard = GUARD.match(s.code) and re.search(r"\b(return|continue|break)\b", s.code)
        if is_guard or _is_plain(s):
            yield _mutant(source, "drop", s.start, s.end, ";")


def _swapped(source: house.Source, found: list[Statement]) -> Iterator[Mutant]:
    for a, b in zip(found, found[1:]):
        if STEP.match(a.code) and STEP.match(b.code) and not source.code[a.end:b.start].strip():
            text = source.text
            new = text[b.start:b.end] + text[a.end:b.start] + text[a.start:a.end]
            if text[a.start:a.end] != text[b.start:b.end]:
                yield _mutant(source, "swap", a.start, b.end, new)


def _ignored(source: house.Source, found: list[Statement]) -> Iterator[Mutant]:
    for s in found:
        if match := re.match(r"PORTCULLIS_TRY\((.*)\);$", s.code, re.DOTALL):
            start = s.start + match.start(1)
            inside = source.text[start:s.start + match.end(1)]
            yield _mutant(source, "ignore", s.start, s.end, f"(void)({inside});")


TIMED = re.compile(r"_ns\b|_ms\b|Ns\b|Ms\b|deadline|due|now|until", re.IGNORECASE)
NO_TIME, NO_END = "std::uint64_t{0}", "~std::uint64_t{0}"
EARLIER_LATER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def _timed(source: house.Source, first: int, last: int) -> Iterator[Mutant]:
    code = source.code
    for match in re.finditer(r"(?<= )(<=|>=|<|>)(?= )", code[first:last]):
        start = first + match.start()
        if TIMED.search(_line_of(code, start)):
            yield _mutant(source, "time", start, start + len(match[0]), EARLIER_LATER[match[0]])
    # A point in time or a wait that is handed on is over at once, or has no end. A single ns would
    # tell nothing: no document promises the instant at which an inner wait looks again.
    for match in re.finditer(r"(?<![\w.>:&])([a-z]\w*_ns)(?=[,;)])", code[first:last]):
        start = first + match.start()
        if re.search(r"[(,=+<>-]\s*$", code[first:start]) or code[:start].endswith("return "):
            for new in NO_TIME, NO_END:
                yield _mutant(source, "time", start, start + len(match[0]), new)
    # A constant of time is none at all.
    constant = r"\* (kNsPer\w+)|(?<![\w:])(k[A-Z]\w*N[sS])\b(?!\()"
    for match in re.finditer(constant, code[first:last]):
        group = 1 if match[1] else 2
        start = first + match.start(group)
        yield _mutant(source, "time", start, start + len(match[group]), f"0 * {match[group]}")


def _negated(source: house.Source, first: int, last: int) -> Iterator[Mutant]:
    code = source.code
    for match in re.finditer(r"\bif (?=\()", code[first:last]):
        start = first + match.end()
        end = _matching(code, start)
        condition = source.text[start + 1:end - 1]
        if ";" not in condition and " = " not in condition:
            yield _mutant(source, "negate", start, end, f"(!({condition}))")
    for match in re.finditer(r"(?<= )(==|!=|&&|\|\|)(?= )", code[first:last]):
        start = first + match.start()
        if re.match(r"\s*(return|const bool|bool)\b", _line_of(code, start)):
            new = {"==": "!=", "!=": "==", "&&": "||", "||": "&&"}[match[0]]
            yield _mutant(source, "negate", start, start + 2, new)


def _uninitialised(source: house.Source, first: int, last: int) -> Iterator[Mutant]:
    """A member that a designated initialiser gives a value, left to its default; not where that is
    the value."""
    code = source.code
    for match in re.finditer(r"(?<=[{ ])\.[a-z]\w* = (?!\{\}|std::nullopt\b)", code[first:last]):
        start = at = first + match.start()
        depth = 0
        while depth > 0 or code[at] not in ",}":
            depth += (code[at] in OPEN) - (code[at] in CLOSE)
            at += 1
        end = at + 1 if code[at] == "," else at
        yield _mutant(source, "init", start, end, "")


def _matching(code: str, at: int) -> int:
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in OPEN) - (code[i] in CLOSE)
        if depth == 0:
            return i + 1
    return len(code)


def _line_of(code: str, at: int) -> str:
    return code[code.rfind("\n", 0, at) + 1:(code.find("\n", at) + 1 or len(code) + 1) - 1]


def _mutant(source: house.Source, operator: str, start: int, end: int, new: str) -> Mutant:
    line = source.text.count("\n", 0, start) + 1
    return Mutant(source.path, operator, start, line, source.text[start:end], new)


def mutants_of(path: str, text: str) -> list[Mutant]:
    source = house.Source(path, text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: set[Mutant] = set()
    for first_line, last_line in house.functions(source.code):
        first, last = starts[first_line - 1], starts[last_line]
        if "{" not in source.code[first:last]:
            continue
        plain = list(statements(source.code, first, last))
        found |= {*_dropped(source, plain), *_swapped(source, plain), *_ignored(source, plain),
                  *_timed(source, first, last), *_negated(source, first, last),
                  *_uninitialised(source, first, last)}
    return sorted(found, key=lambda m: (m.start, OPERATORS.index(m.operator), m.new))
