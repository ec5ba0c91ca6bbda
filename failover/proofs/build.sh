#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the Coq development: compiles every file of _CoqProject out of tree, one line a file, then
# asks Coq itself what each theorem rests on (Print Assumptions) and lets the independent checker
# coqchk judge the compiled files. Anything but "no axiom anywhere" is a failure.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: build.sh [SOURCES [BUILD]]
  SOURCES  folder with _CoqProject and its .v files   (default: the folder of this script)
  BUILD    folder for what coqc writes                (default: build/coq of the source tree)
Status 0: all files compile, every theorem is closed under the global context, no axiom.
Needs Debian's package coq (8.16).
TEXT
}

die() {
  echo "build.sh: $*" >&2
  exit 1
}

[[ ${1:-} != --help && ${1:-} != -h ]] || { usage; exit 0; }
(($# <= 2)) || { usage >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$(cd "${1:-$here}" 2>/dev/null && pwd) || die "no folder '$1'"
build=${2:-$here/../../build/coq}
project=$sources/_CoqProject
[[ -f $project ]] || die "$project: not there; accepted: a folder with a _CoqProject"
for program in coqc coqchk; do
  command -v "$program" >/dev/null || die "no $program in PATH; install Debian's package coq"
done

# _CoqProject: one line "-Q . NAME", then the files in the order in which they are compiled.
library=$(sed -nE 's/^-Q \. ([A-Za-z]+)$/\1/p' "$project")
[[ -n $library ]] || die "$project: no line '-Q . NAME'"
mapfile -t files < <(grep -E '\.v$' "$project")
((${#files[@]} > 0)) || die "$project names no .v file"
for file in "${files[@]}"; do
  [[ -f $sources/$file ]] || die "$project: no file '$file'"
done
for file in "$sources"/*.v; do
  grep -qxF "$(basename "$file")" < <(printf '%s\n' "${files[@]}") ||
    die "$(basename "$file") is not named in $project"
done

# Words that leave something unproved or switch off a check of the kernel. Comments go first.
forbidden='Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Abort|bypass_check'
forbidden+='|Fact|Remark|Proposition|Example|Let +Fixpoint'   # stated as Lemma or Theorem instead
forbidden+='|Unset +(Guard|Positivity|Universe) +Check(ing|ed)?|Declare +Module|Primitive'
uncommented() { perl -0pe 's/\(\*((?:(?!\(\*|\*\)).)|(?R))*\*\)/$& =~ s|[^\n]||gr/gse' "$1"; }
for file in "${files[@]}"; do
  if found=$(uncommented "$sources/$file" | grep -nwE "$forbidden"); then
    die "$file:$(head -n 1 <<<"$found"): leaves something unproved"
  fi
done

mkdir -p "$build"
build=$(cd "$build" && pwd)
rm -f "$build"/*.vo "$build"/*.vok "$build"/*.vos "$build"/*.glob "$build"/*.v
total=$SECONDS
for file in "${files[@]}"; do
  cp "$sources/$file" "$build/$file"
  start=${EPOCHREALTIME/[.,]/}
  (cd "$build" && coqc -q -Q . "$library" "$file") || die "$file does not compile"
  count=$(uncommented "$sources/$file" | grep -cE '^ *(Theorem|Lemma|Corollary) ' || true)
  printf '%-24s %4d statements  %5d ms\n' "${file%.v}" "$count" \
    $(((${EPOCHREALTIME/[.,]/} - start) / 1000))
done

# coqchk reads the compiled files on one core while Print Assumptions is asked on another.
modules=("${files[@]%.v}")
(cd "$build" && coqchk -silent -o -Q . "$library" "${modules[@]/#/$library.}") \
  >"$build/coqchk.txt" 2>&1 &
coqchk=$!
trap 'kill "$coqchk" 2>/dev/null || true' EXIT

# Every theorem of every file, asked one by one, with the answer on the next line.
audit=$build/audit.v
{
  for file in "${files[@]}"; do echo "From $library Require ${file%.v}."; done
  for file in "${files[@]}"; do
    uncommented "$sources/$file" |
      sed -nE "s/^ *(Theorem|Lemma|Corollary) ([A-Za-z0-9_']+).*/\2/p" |
      sed "s/.*/Print Assumptions $library.${file%.v}.&./"
  done
} >"$audit"
asked=$(grep -c '^Print Assumptions' "$audit" || true)
((asked > 0)) || die "no statement found in ${#files[@]} files"
(cd "$build" && coqc -q -Q . "$library" audit.v) >"$build/audit.txt" ||
  die "Print Assumptions failed"
closed=$(grep -cx 'Closed under the global context' "$build/audit.txt" || true)
if ((closed != asked)); then
  grep -vx 'Closed under the global context' "$build/audit.txt" | head -n 5 >&2 || true
  die "$((asked - closed)) of $asked theorems rest on an axiom"
fi
echo "Print Assumptions: $closed of $asked theorems are closed under the global context"

wait "$coqchk" || { tail -n 5 "$build/coqchk.txt" >&2; die "coqchk refuses the files"; }
for kind in 'Axioms' 'Constants/Inductives relying on type-in-type' \
  'Constants/Inductives relying on unsafe (co)fixpoints' \
  'Inductives whose positivity is assumed'; do
  grep -qF "* $kind: <none>" "$build/coqchk.txt" ||
    { grep -A 3 -F "* $kind" "$build/coqchk.txt" >&2 || true; die "coqchk: not '$kind: <none>'"; }
done
echo "coqchk: no axiom, nothing assumed"
echo "${#files[@]} files, $asked theorems, $((SECONDS - total)) s"
