# SPDX-License-Identifier: BSD-3-Clause
#
# SIGINT and SIGTERM end pfc-deadlock whatever it is busy with, also where nothing asks whether it
# should stop: here it reads a standard input that never ends. ctest's limit is the only clock.
import signal
import subprocess
import sys


def ended_by(program, number):
    """Exit status and standard error of a program that hears `number` while it reads."""
    with subprocess.Popen(
        [program, "cbd", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        # More than a pipe holds: when this is written the program is reading, its handlers set.
        running.stdin.write(b" " * (1 << 20))
        running.stdin.flush()
        running.send_signal(number)
        status = running.wait()
        return status, running.stderr.read().decode(), running.stdout.read()


def main():
    program = sys.argv[1]
    failures = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        found = ended_by(program, number)
        wanted = (128 + number, "pfc-deadlock: stopped before there was a result\n", b"")
        if found != wanted:
            print(f"{number.name}: {found}, not {wanted}")
            failures += 1
    return 1 if failures else 0


sys.exit(main())
