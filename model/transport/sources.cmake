# The RC transport of the model: its sources, named from model/, and the two libraries it needs.
set(MODEL_TRANSPORT_SOURCES
    transport/doorbells.cpp
    transport/frame.cpp
    transport/frame_decode.cpp
    transport/frame_faults.cpp
    transport/frame_infiniband.cpp
    transport/icrc.cpp
    transport/inbox.cpp
    transport/lane.cpp
    transport/path.cpp
    transport/pcap.cpp
    transport/qp_transitions.cpp
    transport/receive_queue.cpp
    transport/requester.cpp
    transport/requester_fetch.cpp
    transport/requester_retry.cpp
    transport/requester_turn.cpp
    transport/responder.cpp
    transport/responder_atomic.cpp
    transport/responder_read.cpp
    transport/send_wqe.cpp
    transport/transport.cpp
    transport/umr.cpp
    transport/wire.cpp)

pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)
# The library is made after this file was read.
cmake_language(DEFER CALL target_link_libraries portcullis_model PRIVATE PkgConfig::DEFLATE
                                                                         PkgConfig::PCAP)
