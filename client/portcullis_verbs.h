// SPDX-License-Identifier: BSD-3-Clause
//
// What a holder of a lease does over libibverbs, for programs in C and C++ that have it: inline, so
// that libportcullis-client itself needs none.
//
//   if (portcullis_client_challenge(client, &lease, &challenge, &error)) die(error.text);
//   if (challenge.state == PORTCULLIS_CHALLENGE_OPEN) {
//     if (portcullis_challenge_post(qp, &lease, &challenge, 1)) die("post");
//     wait_for_its_completion();
//     if (portcullis_client_challenge_wait(client, &lease, 1000, &challenge, &error))
//       die(error.text);
//   }
#ifndef PORTCULLIS_VERBS_H
#define PORTCULLIS_VERBS_H

#include <infiniband/verbs.h>
#include <portcullis_client.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-nullptr,cppcoreguidelines-pro-type-cstyle-cast): C has no other

// Posts the WRITE that the challenge asks for, signaled, with `wr_id`. `qp` is the queue pair that
// the lease was granted to, in RTS with the lease's timeout and retries, made with room for 8 bytes
// of inline data (ibv_qp_cap.max_inline_data). What ibv_post_send() answers: 0, or an errno.
static inline int portcullis_challenge_post(struct ibv_qp* qp, const portcullis_lease* lease,
                                            const portcullis_challenge* challenge, uint64_t wr_id) {
  struct ibv_sge from;
  struct ibv_send_wr request;
  struct ibv_send_wr* refused = NULL;
  memset(&from, 0, sizeof from);
  memset(&request, 0, sizeof request);
  from.addr = (uint64_t)(uintptr_t)challenge->nonce;  // inline: read before the call returns
  from.length = sizeof challenge->nonce;
  request.wr_id = wr_id;
  request.sg_list = &from;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  request.wr.rdma.remote_addr = lease->address;
  request.wr.rdma.rkey = lease->rkey;
  return ibv_post_send(qp, &request, &refused);
}

// NOLINTEND(modernize-use-nullptr,cppcoreguidelines-pro-type-cstyle-cast)

#ifdef __cplusplus
}
#endif

#endif
