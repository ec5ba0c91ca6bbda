// SPDX-License-Identifier: BSD-3-Clause
//
// What a peer, or the device on our own behalf, may do: rights of a memory key (mkc.lw, rw, rr, a)
// and of a queue pair (qpc.rwe, rre, rae). Local read always holds, as in mlx5_ib
// (set_mkc_access_pd_addr_fields).
#pragma once

namespace portcullis::pmd {

struct Access {
  bool local_write = false;  // keys only; remote write and atomics need it (ib_check_mr_access)
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;

  bool operator==(const Access&) const = default;
};

}  // namespace portcullis::pmd
