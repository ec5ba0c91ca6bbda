# SPDX-License-Identifier: BSD-3-Clause
"""Manual page and completions of a program, of what its --help says.

    pages.py --summary TEXT --version VERSION --out DIR PROGRAM

writes DIR/NAME.1 for man, DIR/NAME.bash for bash, DIR/_NAME for zsh, and DIR/NAME.md, which
docs/site/build.py puts behind docs/programs/NAME.md.
"""

import argparse
import pathlib
import re
import sys

from help import Block, Definition, Help, HelpError, read

# ---- man ---------------------------------------------------------------------------------------

# What is typed has to come out as what is typed, so - is no hyphen and ' no quotation mark.
GROFF = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha",
                       "~": r"\(ti"})


def groff(text: str) -> str:
    text = text.translate(GROFF)
    return r"\&" + text if text.startswith(".") else text


def block_text(block: Block) -> list[str]:
    if block.paragraph:
        return [".PP", groff(block.paragraph)]
    if block.lines:
        least = min(len(line) - len(line.lstrip()) for line in block.lines)
        return [".PP", ".RS 4", ".nf", *[groff(line[least:]) for line in block.lines], ".fi", ".RE"]
    lines = []
    for definition in block.definitions:
        lines += [".TP", rf"\fB{groff(definition.term)}\fR"]
        lines += [groff(definition.text)] if definition.text else [".PP"]
    return lines


def sections_text(help_: Help, macro: str) -> list[str]:
    lines = []
    for section in help_.sections:
        if macro == ".SS" and section.title == "DESCRIPTION":
            lines += [line for block in section.blocks for line in block_text(block)]
            continue
        lines.append(f'{macro} "{groff(section.title)}"')
        for block in section.blocks:
            lines += block_text(block)
    return lines


def usage_text(help_: Help) -> list[str]:
    return [".nf", *[groff(line) for line in help_.usage], ".fi"]


def commands_text(help_: Help) -> list[str]:
    lines = []
    for command in help_.commands:
        lines += [f'.SH "{groff(" ".join(command.words).upper())}"', *usage_text(command),
                  *sections_text(command, ".SS"), *commands_text(command)]
    return lines


def manual_page(help_: Help, summary: str, version: str) -> str:
    name = help_.words[0]
    lines = [r'.\" Made of what the program says itself: ' + name + " --help.",
             f'.TH "{groff(name.upper())}" 1 "" "portcullis {version}" "Portcullis"',
             ".nh", ".ad l",
             ".SH NAME", rf"{groff(name)} \- {groff(summary)}",
             ".SH SYNOPSIS", *usage_text(help_), *sections_text(help_, ".SH"),
             *commands_text(help_), ".SH SEE ALSO"]
    also = "The documents of Portcullis: docs/ of its tree, /usr/share/doc/portcullis installed."
    lines += [also if name == "portcullis" else rf"\fBportcullis\fR(1). {also}"]
    return "\n".join(lines) + "\n"


# ---- the site ----------------------------------------------------------------------------------


def markdown(help_: Help) -> str:
    """Each help as it is printed, the program's own first."""
    lines = ["## What it says itself", ""]
    for found in all_helps(help_):
        if found is not help_:
            lines += [f"### {' '.join(found.words)}", ""]
        lines += ["```text", *found.text.rstrip("\n").split("\n"), "```", ""]
    return "\n".join(lines)


# ---- completions -------------------------------------------------------------------------------


def spellings(option: Definition) -> list[str]:
    return re.findall(r"(?:^|[\s,])(--?[A-Za-z][\w-]*)", option.term.split(" Needs:")[0]
                      .split(" Excludes:")[0])


def value_of(option: Definition) -> str | None:
    """What stands behind an option: FILE, N, {text,json}; None of one that is a flag."""
    rest = re.sub(r"^(-[\w?]+|--[\w-]+)(,\s*--?[\w-]+)*", "", option.term)
    value = re.match(r"[=\s]\s*(?!Needs:|Excludes:|REQUIRED)(\S+)", rest)
    return value[1] if value else None


def choices(value: str) -> list[str]:
    listed = re.search(r"\{([^}]*)\}", value)
    if listed:
        return listed[1].split(",")
    return value.split("|") if re.fullmatch(r"[a-z][a-z-]*(\|[a-z][a-z-]*)+", value) else []


def is_path(value: str, option: Definition) -> bool:
    return re.match(r"(FILE|PATH|DIR|BUNDLE|LOG)\b", value) is not None or \
        re.search(r"\bto this file\b|^FILE\b", option.text) is not None


def all_helps(help_: Help) -> list[Help]:
    return [help_, *[found for command in help_.commands for found in all_helps(command)]]


def chain(help_: Help) -> str:
    return "".join(f" {word}" for word in help_.words[1:])


def words_loop(help_: Help, all_words: str) -> list[str]:
    """In both shells: which command the line has come to."""
    deeper = [f'"{chain(found)}"' for found in all_helps(help_)[1:]]
    if not deeper:
        return []
    return [f"  for word in {all_words}; do", '    case "$chain $word" in',
            f"      {'|'.join(deeper)}) chain=\"$chain $word\" ;;", "    esac", "  done"]


def bash_values(help_: Help) -> list[str]:
    lines = []
    for found in all_helps(help_):
        for option in found.options():
            value = value_of(option)
            if value is None:
                continue
            reply = f'compgen -W "{" ".join(choices(value))}"' if choices(value) else \
                "compgen -f" if is_path(value, option) else None
            patterns = "|".join(f'"{chain(found)} {spelling}"' for spelling in spellings(option))
            action = f'mapfile -t COMPREPLY < <({reply} -- "$current"); return' if reply \
                else "return"
            lines.append(f"    {patterns}) {action} ;;")
    return lines


def bash_completion(help_: Help) -> str:
    name = help_.words[0]
    function = "_portcullis_" + name.replace("-", "_")
    lines = [f"# What {name} takes, for bash; made of {name} --help.", f"{function}() {{",
             "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
             '  local chain="" word known=""',
             "  [[ $previous != = ]] || previous=${COMP_WORDS[COMP_CWORD - 2]}",
             '  [[ $current != = ]] || current=""', "  COMPREPLY=()",
             *words_loop(help_, '"${COMP_WORDS[@]:1:COMP_CWORD - 1}"')]
    values = bash_values(help_)
    if values:
        lines += ['  case "$chain $previous" in', *values, "  esac"]
    lines.append('  case "$chain" in')
    for found in all_helps(help_):
        words = [word.term for word in found.next_words()]
        words += [spelling for option in found.options() for spelling in spellings(option)]
        lines.append(f'    "{chain(found)}") known="{" ".join(dict.fromkeys(words))}" ;;')
    lines += ["  esac", '  mapfile -t COMPREPLY < <(compgen -W "$known" -- "$current")', "}",
              f"complete -o default -F {function} {name}"]
    return "\n".join(lines) + "\n"


def zsh_quoted(text: str) -> str:
    text = re.sub(r"([\[\]:\\])", r"\\\1", text)
    return text.replace("'", "'\\''")


def zsh_specs(help_: Help) -> list[str]:
    specs = []
    for option in help_.options():
        value = value_of(option)
        action = ""
        if value is not None:
            listed = choices(value)
            kind = f"({' '.join(listed)})" if listed else \
                "_files" if is_path(value, option) else " "
            called = re.sub(r"[^A-Za-z0-9-].*", "", value) or "value"
            action = f":{called}:{kind}"
        for spelling in spellings(option):
            specs.append(f"'*{spelling}[{zsh_quoted(option.text[:70])}]{action}'")
    words = [word.term for word in help_.next_words()]
    specs.append(f"'*:word:({' '.join(words)})'" if words else "'*:file:_files'")
    return specs


def zsh_completion(help_: Help) -> str:
    name = help_.words[0]
    lines = [f"#compdef {name}", f"# What {name} takes, for zsh; made of {name} --help.",
             'local chain="" word', "local -a specs",
             *[line[2:] for line in words_loop(help_, "${words[2,CURRENT-1]}")],
             'case "$chain" in']
    for found in all_helps(help_):
        lines += [f'  "{chain(found)}") specs=(', *[f"    {spec}" for spec in zsh_specs(found)],
                  "  ) ;;"]
    lines += ["esac", '_arguments "${specs[@]}"']
    return "\n".join(lines) + "\n"


# ---- main --------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--summary", required=True, help="one line, for NAME")
    parser.add_argument("--version", required=True, help="of Portcullis")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    parser.add_argument("program", type=pathlib.Path, help="whose --help is asked")
    options = parser.parse_args(arguments)
    name = options.program.name
    try:
        help_ = read(str(options.program.absolute()), name)
    except HelpError as error:
        print(f"pages.py: {error}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for file, text in ((f"{name}.1", manual_page(help_, options.summary, options.version)),
                       (f"{name}.md", markdown(help_)),
                       (f"{name}.bash", bash_completion(help_)),
                       (f"_{name}", zsh_completion(help_))):
        (options.out / file).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
