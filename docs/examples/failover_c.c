// SPDX-License-Identifier: BSD-3-Clause
//
// Advice for a failed send queue, from C: what portcullis/failover.h shows.
#include <portcullis/failover.h>
#include <stdio.h>

static const char* const dump =
    "{ \"regions\": [ { \"rkey\": 4096, \"environment\": \"reuse\", \"consumer\": \"notified\" } ],"
    "  \"work_requests\": [ { \"wr_id\": 7, \"opcode\": \"IBV_WR_RDMA_WRITE\", \"rkey\": 4096,"
    "    \"remote_addr\": 1024, \"length\": 8192, \"qp_num\": 17,"
    "    \"status\": \"IBV_WC_RETRY_EXC_ERR\" } ] }";

int main(void) {
  const struct portcullis_limits limits = {.milliseconds = 5000};
  char* text = NULL;
  const enum portcullis_status status = portcullis_classify(dump, &limits, &text);
  printf("%s\n", text == NULL ? "no memory" : text);
  portcullis_text_free(text);
  return (int)status;
}
