# SPDX-License-Identifier: BSD-3-Clause
#
# The bring-up probes over Linux VFIO, on a function as the floor document saw its firmware and on
# one that answers otherwise: in a guest too each verdict comes out either way. They are in the
# preset probes alone.
from scenario import Scenario

SEEN = ["--timing", "cx5-16.35.4506"]
OTHER = [*SEEN, "--behaviour",
         "nic-rx-bypassed-for-roce=off+rdma-rx-in-path=off+bth-opcode-not-parsed"]

SCENARIO = Scenario(
    summary="flow-probe over VFIO: the floor document's four probes, with both verdicts",
    script="flow_probe.sh",
    servers=[SEEN, OTHER],
    programs=["../probes/tools/flow_probe/flow-probe"])
