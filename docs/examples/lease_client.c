// SPDX-License-Identifier: BSD-3-Clause
//
// lease_client SOCKET: asks leased for a lease, works until it is taken back, and says how it
// ended. Where WRITEs would be posted stands a line; docs/leased.md has the server's side.
//
//   cc lease_client.c -o lease_client $(pkg-config --cflags --libs portcullis-client)
#include <portcullis_client.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void on_ended(const portcullis_end* end, void* context) {
  (void)context;
  printf("ended: known %d outcome %d memory %d cause %d\n", end->is_known, end->outcome,
         end->memory, end->cause);
  fflush(stdout);
}

int main(int argc, char** argv) {
  static const unsigned char gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99};
  static const unsigned char mac[6] = {2, 0, 0, 0, 0, 9};
  portcullis_client* client;
  portcullis_error error;
  portcullis_lease lease;
  portcullis_request request = PORTCULLIS_REQUEST_INIT;
  if (argc != 2) {
    fprintf(stderr, "usage: lease_client SOCKET\n");
    return 2;
  }
  if (portcullis_client_open(argv[1], "example", on_ended, NULL, &client, &error)) {
    fprintf(stderr, "lease_client: %s\n", error.text);
    return 2;
  }
  memcpy(request.gid, gid, sizeof gid);
  memcpy(request.mac, mac, sizeof mac);
  request.qpn = 0x11;
  if (portcullis_client_alloc(client, &request, &lease, &error)) {
    fprintf(stderr, "lease_client: %s\n", error.text);
    return 2;
  }
  printf("granted: %llu bytes\n", (unsigned long long)lease.bytes);
  fflush(stdout);
  while (portcullis_lease_is_open(&lease)) sched_yield();  // post a WRITE with lease.rkey
  portcullis_client_close(client);
  return 0;
}
