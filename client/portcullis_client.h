// SPDX-License-Identifier: BSD-3-Clause
//
// libportcullis-client: leases of leased for programs in C, and in whatever calls C. A thread of
// the library renews what is held, hears of its end at once, and comes back to a server that was
// restarted. Every function may be called from any thread; nothing else may be under way when a
// client is closed. A client is of the process that opened it: in a child of fork() each call is
// PORTCULLIS_INVALID, and close does nothing.
//
// A request has 5 s for its answer (PORTCULLIS_TIMEOUT), and less where a lease would be over
// before. It waits besides for what the library's thread is at: a renewal, or another thread's
// request. So a call that asks a silent server takes some 10 s where nobody else asks, and open 5
// s.
//
//   portcullis_client *client;
//   portcullis_error error;
//   if (portcullis_client_open("/run/portcullis/leased.sock", "me", NULL, NULL, &client, &error))
//     die(error.text);
//   portcullis_request request = PORTCULLIS_REQUEST_INIT;     // then gid, mac, qpn
//   portcullis_lease lease;
//   if (portcullis_client_alloc(client, &request, &lease, &error)) die(error.text);
//   while (portcullis_lease_is_open(&lease)) post_a_request(&lease);
//
// docs/leased.md says what a lease promises, docs/wire.md what the numbers mean.
#ifndef PORTCULLIS_CLIENT_H
#define PORTCULLIS_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a call that failed answers; 0 is success.
enum {
  PORTCULLIS_OK = 0,
  PORTCULLIS_INVALID = 1,      // a value that nobody accepts
  PORTCULLIS_NOT_FOUND = 2,    // no such lease of this tenant; nobody listens there
  PORTCULLIS_NOT_ALLOWED = 3,  // the role may not
  PORTCULLIS_LIMIT = 4,        // of the tenant or the server
  PORTCULLIS_BUSY = 5,         // again later; the server is ending
  PORTCULLIS_UNAVAILABLE = 6,  // the device or the journal is lost: nothing is granted
  PORTCULLIS_TIMEOUT = 7,
  PORTCULLIS_GONE = 8,  // the server cannot be reached; the client goes on trying. Of open: it
                        // cannot be believed, or does not believe us, and there is no client
  PORTCULLIS_SYSTEM = 9
};

// The floor document's outcomes.
enum { PORTCULLIS_TORN_DOWN = 0, PORTCULLIS_FENCED = 1, PORTCULLIS_LEASE_NOT_FOUND = 2 };

typedef struct portcullis_client portcullis_client;
typedef struct portcullis_gate portcullis_gate;

typedef struct {
  int code;
  char text[252];  // one line; " .. " stands for the middle of one that is too long
} portcullis_error;

typedef struct {
  uint64_t bytes;
  uint64_t ttl_ms;  // between renewals; 0: the server's
  uint8_t gid[16];  // this side's, an IPv4 address as ::ffff:a.b.c.d
  uint8_t mac[6];
  uint16_t mtu;
  uint32_t qpn;    // this side's RC queue pair
  uint32_t psn;    // the first that it sends
  uint8_t access;  // bits: 1 write, 2 read, 4 atomic
  uint8_t ack_timeout;
  uint8_t retry_count;
} portcullis_request;

#define PORTCULLIS_REQUEST_INIT \
  { 65536, 0, {0}, {0}, 1024, 0, 0, 3, 14, 6 }

// What is granted. `gate` is the library's, and stays until the client is closed: a lease is of no
// use behind that, portcullis_lease_is_open() of it not allowed.
typedef struct {
  uint64_t id;
  uint64_t epoch;
  uint64_t address;  // of the region's first byte
  uint64_t bytes;
  uint8_t gid[16];  // the server's
  uint8_t mac[6];
  uint16_t mtu;
  uint32_t qpn;
  uint32_t psn;
  uint32_t rkey;
  uint8_t ack_timeout;  // this side's queue pair must use these two
  uint8_t retry_count;
  uint8_t access;
  const portcullis_gate* gate;
} portcullis_lease;

typedef struct {
  uint64_t id;
  uint64_t epoch;
  uint32_t failed_mask;
  uint8_t is_known;  // 0: the server could not be asked; the rest but the name says nothing
  uint8_t outcome;
  uint8_t memory;  // what proved that no access reaches it; 0 nothing
  uint8_t cause;
} portcullis_end;

// A lease has ended otherwise than by release; its gate is closed already. Called from a thread of
// the library's, which it must not keep waiting: of the library it may ask
// portcullis_lease_is_open(), and may close the client; no other call of it begins then. Other
// calls are PORTCULLIS_INVALID from there.
typedef void (*portcullis_on_ended)(const portcullis_end* end, void* context);

// `name` is for the server's log. `on_ended` may be NULL.
int portcullis_client_open(const char* socket, const char* name, portcullis_on_ended on_ended,
                           void* context, portcullis_client** client, portcullis_error* error);
// A server of another host, over QUIC. Files are PEM; the key is nobody else's to read.
typedef struct {
  const char* address;      // "HOST:PORT", an IPv6 address in brackets
  const char* authority;    // certificates that the server is believed by
  const char* certificate;  // this side's, and what leads to its authority
  const char* key;
  const char* server_name;  // in the server's certificate; NULL: HOST
} portcullis_quic;

int portcullis_client_open_quic(const portcullis_quic* server, const char* name,
                                portcullis_on_ended on_ended, void* context,
                                portcullis_client** client, portcullis_error* error);
// The etcd of a fleet (docs/fleet.md). NULL: not needed there.
typedef struct {
  const char* endpoints;  // "http://192.0.2.1:2379", a comma between them
  const char* authority;  // files, PEM
  const char* certificate;
  const char* key;
  const char* user;
  const char* password;
} portcullis_etcd;

// A lease of whichever node takes it. What may be NULL is optional.
typedef struct {
  portcullis_etcd etcd;
  const char* labels;            // "rack=r1,zone=b": the node must have them; NULL: any node
  const char* prefers;           // that it had better have; may be NULL
  const portcullis_quic* quic;   // for nodes of other hosts, without the address; NULL: this host's
  const char* name;              // for the server's log; may be NULL
  portcullis_on_ended on_ended;  // as of portcullis_client_open(); may be NULL
  void* context;
} portcullis_anywhere;

// The lease, and a client of the node that granted it. Nodes that are likely to have room are asked
// first, each for some seconds at most; `error` says of each why it did not take it.
int portcullis_client_alloc_anywhere(const portcullis_anywhere* anywhere,
                                     const portcullis_request* request, portcullis_client** client,
                                     portcullis_lease* lease, portcullis_error* error);
// Leaves what is held to the server, which ends it by its rule for clients that go. Closes gates
// and frees them. Waits for the library's thread, and so for an on_ended that is under way; from
// within on_ended it does not wait. Takes NULL.
void portcullis_client_close(portcullis_client* client);

int portcullis_client_alloc(portcullis_client* client, const portcullis_request* request,
                            portcullis_lease* lease, portcullis_error* error);
// What the server asks of a lease's holder: `nonce`, written by RDMA into the region's first eight
// bytes within `left_ms`, or the lease is revoked (docs/leased.md, "The challenge"). The memory is
// the holder's from PORTCULLIS_CHALLENGE_MET on. portcullis_verbs.h posts the WRITE.
enum { PORTCULLIS_CHALLENGE_NONE = 0, PORTCULLIS_CHALLENGE_OPEN = 1, PORTCULLIS_CHALLENGE_MET = 2 };
typedef struct {
  uint64_t left_ms;
  uint8_t nonce[8];
  uint8_t state;
} portcullis_challenge;

// PORTCULLIS_NOT_FOUND once the lease has ended.
int portcullis_client_challenge(portcullis_client* client, const portcullis_lease* lease,
                                portcullis_challenge* challenge, portcullis_error* error);
// The same, asked again and again until it is not OPEN any more: after the WRITE has completed.
// PORTCULLIS_TIMEOUT when it is after `most_ms`, or when nobody has answered then; 100 ms for an
// answer it has in any case.
int portcullis_client_challenge_wait(portcullis_client* client, const portcullis_lease* lease,
                                     uint32_t most_ms, portcullis_challenge* challenge,
                                     portcullis_error* error);
// Closes the gate, has the lease revoked, and says what that came to. *end is written in any case:
// when the call fails, with the lease's name and is_known 0.
int portcullis_client_release(portcullis_client* client, const portcullis_lease* lease,
                              portcullis_end* end, portcullis_error* error);
// What may be posted again of the requests that were under way under a lease, when they ended in
// error or the lease did. The gate is closed and the lease given back first, for its outcome alone
// says whether an old packet can still arrive: *end is that outcome (is_known 0: the server does
// not know it any more, or cannot be reached, and no fence is assumed). `dump_json` is the send
// queue in posting order with what the application promises of the memory, as docs/failover.md has
// it ("Advice for a send queue"); of the lease's rkey it does not say "fenced". One that cannot be
// read is PORTCULLIS_INVALID, and the lease is left as it was. *advice_json is one object for each
// request, for portcullis_client_text_free(). What `most_ms` does not suffice for (0: as long as it
// takes) has the advice "no-advice"; asking the server comes on top of it.
int portcullis_client_advise(portcullis_client* client, const portcullis_lease* lease,
                             const char* dump_json, uint32_t most_ms, portcullis_end* end,
                             char** advice_json, portcullis_error* error);
// Takes NULL.
void portcullis_client_text_free(char* text);

// Whether requests may be posted under it: one load, for the path that posts. Once 0, always 0.
int portcullis_lease_is_open(const portcullis_lease* lease);

// "0.1.0".
const char* portcullis_client_version(void);

#ifdef __cplusplus
}
#endif

#endif
