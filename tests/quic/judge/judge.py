# SPDX-License-Identifier: BSD-3-Clause
"""Runs the judge of leased over QUIC: certificates, a server, the client in Go.

    judge.py LEASED LEASECTL [--run REGEX] [-v]

The client (judge.go and the rest of this folder) is built with Debian's golang-go and its quic-go.
What only the parent of a server can do it asks for: a line "please .." on its standard output,
answered by "done" on its standard input.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
QUIC_TLS = pathlib.Path("/usr/share/gocode/src/github.com/lucas-clemente/quic-go/internal"
                        "/handshake/crypto_setup.go")
PATIENCE = 120  # seconds; ends what hangs

# judge.go says the same of idle, orphan and crowded; the slots rest for a moment only, since cases
# need more leases one after another than there are slots.
CONFIGURATION = """
[device]
slots = 8192
grace_ms = 100
[socket]
path = "{folder}/run/leased.sock"
[journal]
path = "{folder}/run/leased.journal"
[limits]
tenant_leases = 8192
orphan_ms = 3000
tenant_connections = 128
[quic]
listen = "127.0.0.1:{port}"
authority = "{folder}/pki/ca.pem"
certificate = "{folder}/server.pem"
key = "{folder}/server.key"
revoked = "{folder}/pki/revoked.pem"
idle_ms = 4000
[[certificate]]
name = "DNS:listed.example"
tenant = 7
role = "client"
"""


class Server:
    """leased with a port that stays the same when it is started again."""

    def __init__(self, program: str, folder: pathlib.Path):
        self.program = program
        self.folder = folder
        self.port = 0
        self.process = None

    def start(self) -> None:
        configuration = self.folder / "leased.toml"
        configuration.write_text(CONFIGURATION.format(folder=self.folder, port=self.port))
        with open(self.folder / "leased.log", "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--config", configuration], stdout=subprocess.PIPE, stderr=log,
                text=True)
        first = self.process.stdout.readline()
        found = re.search(r"QUIC 127\.0\.0\.1:(\d+)", first.strip())
        if not found:
            raise RuntimeError(f"leased does not say where it listens: {first!r}\n{self.log()}")
        self.port = int(found.group(1))

    def log(self) -> str:
        return (self.folder / "leased.log").read_text(errors="replace")[-4000:]

    def stop(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        self.process.stdout.close()
        return self.process.wait(PATIENCE)


class Judge:
    def __init__(self, leased: str, leasectl: str, folder: pathlib.Path):
        self.leasectl = leasectl
        self.folder = folder
        self.server = Server(leased, folder)

    def pki(self, *arguments: str) -> None:
        subprocess.run([self.leasectl, "pki", *arguments], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, timeout=PATIENCE)

    def make_certificates(self) -> None:
        (self.folder / "run").mkdir(mode=0o700)
        self.pki("init", "pki")
        self.pki("init", "rogue")
        self.pki("issue", "pki", "server", "--server", "localhost", "--server", "127.0.0.1")
        self.pki("issue", "pki", "wrongpurpose", "--server", "portcullis.example")
        self.pki("issue", "rogue", "rogue", "--client", "7:client")
        for who, what in {"alice": "7:client", "mallory": "7:client", "bob": "8:client",
                          "crowd": "9:client", "olga": "1:operator",
                          "oscar": "1:observer"}.items():
            self.pki("issue", "pki", who, "--client", what)
        for who, names in {"listed": ["DNS:listed.example"], "stranger": ["DNS:stranger.example"],
                           "twofaced": ["URI:portcullis:7:client", "URI:portcullis:8:client"],
                           "norole": ["URI:portcullis:7"]}.items():
            self.pki("issue", "pki", who, *(word for name in names for word in ("--name", name)))

    def build(self) -> pathlib.Path:
        program = self.folder / "judge"
        environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOFLAGS="")
        # quic-go leaves by itself where no ALPN was agreed on: nobody would see the server stay.
        changed, lenient = self.folder / "crypto_setup.go", "EnforceNextProtoSelection: false"
        text, count = re.subn(r"EnforceNextProtoSelection: *true", lenient, QUIC_TLS.read_text())
        if count != 1:
            raise RuntimeError(f"{QUIC_TLS} is not the one that this was written for")
        changed.write_text(text)
        overlay = self.folder / "overlay.json"
        overlay.write_text(json.dumps({"Replace": {str(QUIC_TLS): str(changed)}}))
        subprocess.run(["go", "build", "-overlay", overlay, "-o", program, "."], cwd=HERE,
                       env=environment, check=True)
        return program

    def do(self, what: str) -> None:
        if what == "kill":
            self.server.stop(signal.SIGKILL)
        elif what == "end":
            self.server.process.send_signal(signal.SIGTERM)
        elif what == "start":
            # A server that was asked to end does so by itself; it holds the port until then.
            self.server.process.wait(PATIENCE)
            self.server.start()
        elif what == "take back mallory":
            self.pki("revoke", "pki", "mallory.pem")
            self.server.process.send_signal(signal.SIGHUP)
        else:
            raise RuntimeError(f"the judge asks for {what!r}")

    def run(self, arguments: list[str]) -> int:
        self.make_certificates()
        program = self.build()
        self.server.start()
        client = subprocess.Popen(
            [program, "--server", f"127.0.0.1:{self.server.port}", "--folder", self.folder,
             *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            for line in client.stdout:
                if line.startswith("please "):
                    self.do(line.removeprefix("please ").strip())
                    client.stdin.write("done\n")
                    client.stdin.flush()
                else:
                    print(line, end="", flush=True)
            status = client.wait(PATIENCE)
        finally:
            client.kill()
            if self.server.process.poll() is None:
                ended = self.server.stop(signal.SIGTERM)
            else:
                ended = self.server.process.returncode
        if ended != 0:
            print(f"leased ended with status {ended}")
        if ended != 0 or status != 0:
            print(f"leased said:\n{self.server.log()}")
        return 1 if ended != 0 else status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leased")
    parser.add_argument("leasectl")
    parser.add_argument("--run", default="", help="the cases whose names this expression matches")
    parser.add_argument("-v", action="store_true", help="says what the server said")
    parser.add_argument("--patience", default="120s", help="when what has not come will not")
    words = parser.parse_args()
    arguments = ["--run", words.run, "--patience", words.patience] + (["-v"] if words.v else [])
    with tempfile.TemporaryDirectory(prefix="judge.") as folder:
        judge = Judge(os.path.abspath(words.leased), os.path.abspath(words.leasectl),
                      pathlib.Path(folder))
        return judge.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
