#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Starts the compiler for workbench.py: through ccache, but for the source that is a mutant. That is
# compiled without warnings, for a name that nobody uses any more is no mistake of a mutant.
case $PORTCULLIS_MUTANT in
  *.hpp) exec "$@" -w -O1 ;;
esac
case " $* " in
  *"/$PORTCULLIS_MUTANT "*) [ -z "$PORTCULLIS_MUTANT" ] || exec "$@" -w -O1 ;;
esac
if command -v ccache >/dev/null; then exec ccache "$@"; fi
exec "$@"
