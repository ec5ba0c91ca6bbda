# SPDX-License-Identifier: BSD-3-Clause
"""What a program's --help says, taken apart: the one source of its manual page and completions.

A help is usage lines, paragraphs, and sections of three kinds of blocks: paragraphs, definitions
(a term, two blanks or column 30, a text that may go on below) and lines that stand as they are.
"""

import dataclasses
import re
import subprocess

COLUMN = 30  # where CLI11 begins the text of an option
DEPTH = 2  # of commands below a program: `leasectl pki init`
LIMIT_S = 300  # of a busy machine; a help takes milliseconds

# Of these a definition is a word that may be written next; and of those a program that has a help.
WORDS = ("COMMANDS", "SUBCOMMANDS", "PROGRAMS")
COMMANDS = ("COMMANDS", "SUBCOMMANDS")
DEFINED = ("OPTIONS", "POSITIONALS", *WORDS)  # an option may have no text
AS_IT_STANDS = ("EXAMPLES",)


class HelpError(Exception):
    """One line for whoever reads the build's log."""


@dataclasses.dataclass
class Definition:
    term: str
    text: str


@dataclasses.dataclass
class Block:
    """One of the three."""

    paragraph: str = ""
    definitions: list[Definition] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Section:
    title: str
    blocks: list[Block] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Help:
    words: list[str]  # what calls it: ["leasectl", "pki", "init"]
    text: str = ""  # as it was printed
    usage: list[str] = dataclasses.field(default_factory=list)
    sections: list[Section] = dataclasses.field(default_factory=list)
    commands: list["Help"] = dataclasses.field(default_factory=list)

    def definitions(self, titles=None) -> list[Definition]:
        return [definition for section in self.sections if not titles or section.title in titles
                for block in section.blocks for definition in block.definitions]

    def options(self) -> list[Definition]:
        return [found for found in self.definitions() if found.term.startswith("-")]

    def next_words(self) -> list[Definition]:
        """What may be written behind the program's name, with what it is for."""
        found = []
        for definition in self.definitions(WORDS):
            words = definition.term.split()
            if words[0] == self.words[0]:  # `first-light show BUNDLE`
                words = words[1:]
            if words and re.fullmatch(r"[a-z][a-z0-9-]*", words[0]):
                found.append(Definition(words[0], definition.text))
        return found


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def split_term(line: str) -> tuple[str, str]:
    """The term of a line, and its text as far as it stands there too."""
    gap = re.match(r"\s*(\S(?:.*?\S)?)\s{2,}(\S.*)$", line)
    if gap:
        return gap[1], gap[2]
    term, rest = line[:COLUMN].strip(), line[COLUMN:].strip()
    is_whole = all(term.count(a) == term.count(b) for a, b in ("[]", "{}", "()")) and \
        not re.match(r"\[|\{|\.\.\.|in \[|Needs:|Excludes:|REQUIRED", rest)
    if len(line) > COLUMN and line[COLUMN - 1] == " " and is_whole:
        return term, rest
    named = re.match(r"\s*([a-z][^:]*): (\S.*)$", line)
    return (named[1], named[2]) if named else (line.strip(), "")


def definitions(lines: list[str], title: str) -> list[Definition] | None:
    """Lines as definitions; None when one of them has no text and none is to be expected."""
    first = indent(lines[0])
    found: list[Definition] = []
    for line in lines:
        if found and indent(line) > first + 2:
            found[-1].text = f"{found[-1].text} {line.strip()}".strip()
        else:
            found.append(Definition(*split_term(line)))
    return found if title in DEFINED or all(one.text for one in found) else None


def blocks(lines: list[str], title: str) -> list[Block]:
    """Of lines without an empty one among them."""
    found: list[Block] = []
    while lines:
        is_text = indent(lines[0]) == 0
        count = next((at for at, line in enumerate(lines) if (indent(line) == 0) != is_text),
                     len(lines))
        run, lines = lines[:count], lines[count:]
        if is_text:
            found.append(Block(paragraph=" ".join(line.strip() for line in run)))
            continue
        follows = bool(found) and found[-1].paragraph.endswith(":")
        terms = None if follows or title in AS_IT_STANDS else definitions(run, title)
        found.append(Block(definitions=terms) if terms else Block(lines=run))
    return found


def heading(line: str, before: str, after: str) -> tuple[str, str] | None:
    """The title that a line is, and what is left of it; None of one that is none."""
    if re.fullmatch(r"[A-Z][A-Z ]+", line):
        return line, ""
    status = re.match(r"exit status:?\s+(.*)$", line, re.IGNORECASE)
    if status:
        return "EXIT STATUS", status[1]
    named = re.fullmatch(r"([A-Za-z][\w ,-]{0,40})([;(].*)?:", line)
    if named and not before and indent(after) >= 2:
        return named[1].strip().upper(), line if named[2] else ""
    return None


def parse(text: str, words: list[str]) -> Help:
    help_ = Help(words, text, sections=[Section("DESCRIPTION")])
    lines = [line.rstrip() for line in text.splitlines()]
    # An option group of CLI11 is more options, further in.
    lines = [line for line in lines if line.strip() not in ("one of them", "Options:")
             or indent(line) == 0]
    lines = [line for line in lines if not re.match(r"\s*\[(Option Group|Exactly)\b.*\]$", line)]
    chunk: list[str] = []

    def end_chunk():
        if chunk:
            section = help_.sections[-1]
            section.blocks += blocks(list(chunk), section.title)
            chunk.clear()

    in_usage = False
    for at, line in enumerate(lines):
        before = lines[at - 1] if at else ""
        after = next((more for more in lines[at + 1:] if more), "")
        usage = re.match(r"usage: (.*)$", line, re.IGNORECASE)
        in_usage = bool(usage) or (in_usage and indent(line) > 0)
        title = heading(line, before, after)
        if in_usage:
            end_chunk()
            help_.usage.append(usage[1] if usage else line.strip())
        elif not line:
            end_chunk()
        elif title:
            end_chunk()
            help_.sections.append(Section(title[0]))
            if title[0] == "EXIT STATUS":
                chunk.append(title[1])
            elif title[1]:
                help_.sections[-1].blocks.append(Block(paragraph=title[1]))
        else:
            chunk.append(line)
    end_chunk()
    help_.sections = [section for section in help_.sections if section.blocks]
    return help_


def ask(program: str, words: list[str]) -> str | None:
    """What `program WORD .. --help` prints; None when it refuses."""
    try:
        ended = subprocess.run([program, *words, "--help"], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HelpError(f"{program} --help: {error}") from error
    return ended.stdout if ended.returncode == 0 and ended.stdout else None


def read(program: str, name: str, words: list[str] | None = None) -> Help:
    """The help of a program, with those of its commands."""
    words = words or []
    text = ask(program, words)
    if text is None:
        raise HelpError(f"{program} {' '.join([*words, '--help'])}: refused, or nothing printed")
    found = parse(text, [name, *words])
    if not found.usage:
        raise HelpError(f"{program} {' '.join([*words, '--help'])}: no line begins with 'usage:'")
    has_commands = any(section.title in COMMANDS for section in found.sections)
    for word in found.next_words() if has_commands and len(words) < DEPTH else []:
        if ask(program, [*words, word.term]) not in (None, text):
            found.commands.append(read(program, name, [*words, word.term]))
    return found
