# SPDX-License-Identifier: BSD-3-Clause
"""Leases of leased for Python, over libportcullis-client (portcullis_client.h) by cffi.

    with Client("/run/portcullis/leased.sock") as client:
        lease = client.alloc(gid="192.0.2.2", mac="02:00:00:00:00:09", qpn=0x11)
        while lease.is_open:
            ...
        print(client.release(lease).outcome)

    Client(Quic("db1.example:7810", "ca.pem", "me.pem", "me.key"))     # a server of another host

    client, lease = alloc_anywhere(Etcd("http://192.0.2.1:2379"), labels=["rack=r1"],
                                   gid="192.0.2.2", mac="02:00:00:00:00:09", qpn=0x11)
"""

import dataclasses
import ipaddress
import json
import threading
import weakref

import cffi

TORN_DOWN, FENCED, NOT_FOUND = 0, 1, 2
NO_CHALLENGE, CHALLENGE_OPEN, CHALLENGE_MET = 0, 1, 2

_ffi = cffi.FFI()
_ffi.cdef("""
typedef struct portcullis_client portcullis_client;
typedef struct portcullis_gate portcullis_gate;
typedef struct { int code; char text[252]; } portcullis_error;
typedef struct {
  uint64_t bytes; uint64_t ttl_ms; uint8_t gid[16]; uint8_t mac[6]; uint16_t mtu; uint32_t qpn;
  uint32_t psn; uint8_t access; uint8_t ack_timeout; uint8_t retry_count;
} portcullis_request;
typedef struct {
  uint64_t id; uint64_t epoch; uint64_t address; uint64_t bytes; uint8_t gid[16]; uint8_t mac[6];
  uint16_t mtu; uint32_t qpn; uint32_t psn; uint32_t rkey; uint8_t ack_timeout;
  uint8_t retry_count; uint8_t access; const portcullis_gate *gate;
} portcullis_lease;
typedef struct {
  uint64_t id; uint64_t epoch; uint32_t failed_mask; uint8_t is_known; uint8_t outcome;
  uint8_t memory; uint8_t cause;
} portcullis_end;
typedef void (*portcullis_on_ended)(const portcullis_end *end, void *context);
int portcullis_client_open(const char *, const char *, portcullis_on_ended, void *,
                           portcullis_client **, portcullis_error *);
typedef struct {
  const char *address; const char *authority; const char *certificate; const char *key;
  const char *server_name;
} portcullis_quic;
int portcullis_client_open_quic(const portcullis_quic *, const char *, portcullis_on_ended, void *,
                                portcullis_client **, portcullis_error *);
typedef struct {
  const char *endpoints; const char *authority; const char *certificate; const char *key;
  const char *user; const char *password;
} portcullis_etcd;
typedef struct {
  portcullis_etcd etcd; const char *labels; const char *prefers; const portcullis_quic *quic;
  const char *name; portcullis_on_ended on_ended; void *context;
} portcullis_anywhere;
int portcullis_client_alloc_anywhere(const portcullis_anywhere *, const portcullis_request *,
                                     portcullis_client **, portcullis_lease *, portcullis_error *);
void portcullis_client_close(portcullis_client *);
int portcullis_client_alloc(portcullis_client *, const portcullis_request *, portcullis_lease *,
                            portcullis_error *);
typedef struct { uint64_t left_ms; uint8_t nonce[8]; uint8_t state; } portcullis_challenge;
int portcullis_client_challenge(portcullis_client *, const portcullis_lease *,
                                portcullis_challenge *, portcullis_error *);
int portcullis_client_challenge_wait(portcullis_client *, const portcullis_lease *, uint32_t,
                                     portcullis_challenge *, portcullis_error *);
int portcullis_client_release(portcullis_client *, const portcullis_lease *, portcullis_end *,
                              portcullis_error *);
int portcullis_client_advise(portcullis_client *, const portcullis_lease *, const char *, uint32_t,
                             portcullis_end *, char **, portcullis_error *);
void portcullis_client_text_free(char *);
int portcullis_lease_is_open(const portcullis_lease *);
const char *portcullis_client_version(void);
""")


class Error(Exception):
    """`code` is one of the PORTCULLIS_ numbers of portcullis_client.h."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class End:
    """How a lease ended; `is_known` False: the server could not be asked."""

    def __init__(self, end):
        self.id, self.epoch = end.id, end.epoch
        self.is_known = bool(end.is_known)
        self.outcome, self.memory, self.cause = end.outcome, end.memory, end.cause
        self.failed_mask = end.failed_mask


class Challenge:
    """What the server asks of a lease's holder: `nonce`, written into its first eight bytes."""

    def __init__(self, challenge):
        self.state, self.left_ms = challenge.state, challenge.left_ms
        self.nonce = bytes(challenge.nonce)


class Lease:
    """What was granted. Its members are those of portcullis_lease. Keeps its client, which is
    closed when nobody keeps either any more; a lease of a client that was closed is not open."""

    def __init__(self, client, lease):
        self._client, self._lease = client, lease

    def __getattr__(self, name):
        value = getattr(self._lease, name)
        return bytes(value) if name in ("gid", "mac") else value

    @property
    def is_open(self):
        return self._client._is_open(self._lease)


# What is called from a thread of the library's cannot be freed there, before it has returned.
_never_freed = []
_called = threading.local()


def _close(library, client, heard):
    if getattr(_called, "by_library", False):
        _never_freed.append((library, heard))
    library.portcullis_client_close(client)


def _bytes(text):
    """A NUL would end it for the library, and the rest be lost."""
    if "\0" in str(text):
        raise ValueError(f"{str(text)!r}: text without NUL is accepted")
    return str(text).encode()


def _mac(address):
    digits = address.replace(":", "")
    octets = address.split(":") if ":" in address else [address]
    if len(digits) != 12 or len(octets) not in (1, 6) or any(
            each not in "0123456789abcdefABCDEF" for each in digits):
        raise ValueError(f"mac {address!r}: six octets such as 02:00:00:00:00:09 are accepted")
    return bytes.fromhex(digits)


def _gid(address):
    parsed = ipaddress.ip_address(address)
    return parsed.packed if parsed.version == 6 else bytes(10) + b"\xff\xff" + parsed.packed


@dataclasses.dataclass
class Quic:
    """A server of another host; its members are those of portcullis_quic."""

    address: str
    authority: str
    certificate: str
    key: str
    server_name: str | None = None

    def native(self):
        texts = _texts(dataclasses.astuple(self))
        return texts, _ffi.new("portcullis_quic *", texts)  # which points into the texts


@dataclasses.dataclass
class Etcd:
    """The etcd of a fleet; its members are those of portcullis_etcd."""

    endpoints: str
    authority: str | None = None
    certificate: str | None = None
    key: str | None = None
    user: str | None = None
    password: str | None = None

    def native(self):
        texts = _texts(dataclasses.astuple(self))
        return texts, _ffi.new("portcullis_etcd *", texts)


def _texts(values):
    return [_ffi.NULL if each is None else _ffi.new("char[]", _bytes(each)) for each in values]


def _request(gid, mac, qpn, *, size=65536, ttl_ms=0, psn=0, mtu=1024, access=3, ack_timeout=14,
             retry_count=6):
    return _ffi.new("portcullis_request *", {
        "bytes": size, "ttl_ms": ttl_ms, "gid": _gid(gid), "mtu": mtu, "qpn": qpn, "psn": psn,
        "mac": _mac(mac), "access": access,
        "ack_timeout": ack_timeout, "retry_count": retry_count})


class Client:
    """`server` is a socket's path or a Quic.

    `on_ended`, if there is one, is given an End from a thread of the library's: it must be
    quick, and may call nothing of the client but close() and a lease's is_open. A client that
    nobody keeps, nor a lease of it, is closed, and at the end of the program at the latest. It is
    of the process that opened it: a child of os.fork() opens its own."""

    def __init__(self, server, name="python", on_ended=None,
                 library="libportcullis-client.so.0.1"):
        self._load(on_ended, library)
        made = _ffi.new("portcullis_client **")
        if isinstance(server, Quic):
            kept, native = server.native()
            self._call("portcullis_client_open_quic", native, _bytes(name), self._heard,
                       _ffi.NULL, made)
            del kept
        else:
            self._call("portcullis_client_open", _bytes(server), _bytes(name), self._heard,
                       _ffi.NULL, made)
        self._opened(made[0])

    def _load(self, on_ended, library):
        self._library = _ffi.dlopen(library)
        self._lock = threading.Lock()
        self._heard = _ffi.NULL
        if on_ended is None:
            return

        def hear(end, _):
            _called.by_library = True
            try:
                on_ended(End(end))
            finally:
                _called.by_library = False

        self._heard = _ffi.callback("void(const portcullis_end *, void *)", hear)

    def _opened(self, client):
        self._client = client
        self._closing = weakref.finalize(self, _close, self._library, client, self._heard)

    def _is_open(self, lease):
        with self._lock:  # its gate is freed with the client
            return self._client != _ffi.NULL and bool(
                self._library.portcullis_lease_is_open(lease))

    def _call(self, function, *arguments):
        error = _ffi.new("portcullis_error *")
        code = getattr(self._library, function)(*arguments, error)
        if code != 0:
            raise Error(code, _ffi.string(error.text).decode())

    def alloc(self, gid, mac, qpn, **more):
        """`more`: size, ttl_ms, psn, mtu, access, ack_timeout, retry_count."""
        request = _request(gid, mac, qpn, **more)
        lease = _ffi.new("portcullis_lease *")
        self._call("portcullis_client_alloc", self._client, request, lease)
        return Lease(self, lease)

    def challenge(self, lease, *, wait_ms=None):
        """With `wait_ms`: once it is not open any more, or an Error after that time."""
        made = _ffi.new("portcullis_challenge *")
        if wait_ms is None:
            self._call("portcullis_client_challenge", self._client, lease._lease, made)
        else:
            self._call("portcullis_client_challenge_wait", self._client, lease._lease, wait_ms,
                       made)
        return Challenge(made)

    def release(self, lease):
        end = _ffi.new("portcullis_end *")
        self._call("portcullis_client_release", self._client, lease._lease, end)
        return End(end)

    def advise(self, lease, dump, *, most_ms=0):
        """What may be posted again of `dump` (docs/failover.md, as a dict): the lease is given back
        first, unless the dump cannot be read. An End, and a list with the advice for each
        request."""
        end = _ffi.new("portcullis_end *")
        text = _ffi.new("char **")
        self._call("portcullis_client_advise", self._client, lease._lease,
                   json.dumps(dump).encode(), most_ms, end, text)
        try:
            return End(end), json.loads(_ffi.string(text[0]))
        finally:
            self._library.portcullis_client_text_free(text[0])

    def close(self):
        """What is held is left to the server. Leases of it are not open any more."""
        with self._lock:
            self._client = _ffi.NULL
        self._closing()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def alloc_anywhere(etcd, gid, mac, qpn, *, labels=(), prefers=(), quic=None, name="python",
                   on_ended=None, library="libportcullis-client.so.0.1", **more):
    """A client of whichever node of the fleet takes the lease, and the lease. `quic` is a Quic
    whose address is not looked at: for nodes of other hosts. The Error says why no node takes it.
    """
    client = Client.__new__(Client)
    client._load(on_ended, library)
    kept, native = etcd.native()
    kept_quic, native_quic = (None, _ffi.NULL) if quic is None else quic.native()
    texts = _texts([",".join(labels), ",".join(prefers), name])
    anywhere = _ffi.new("portcullis_anywhere *", {
        "etcd": native[0], "labels": texts[0], "prefers": texts[1], "name": texts[2],
        "quic": native_quic, "on_ended": client._heard})
    request = _request(gid, mac, qpn, **more)
    made, lease = _ffi.new("portcullis_client **"), _ffi.new("portcullis_lease *")
    client._call("portcullis_client_alloc_anywhere", anywhere, request, made, lease)
    del kept, kept_quic
    client._opened(made[0])
    return client, Lease(client, lease)
