# Objects of an initialised function and the data path.
set(PMD_OBJECT_SOURCES
    completion.cpp
    completion_queue.cpp
    completion_ring.cpp
    fence_commands.cpp
    inline_command.cpp
    memory_key.cpp
    port_mac.cpp
    protection_domain.cpp
    qp_transitions.cpp
    queue_pair.cpp
    receive_queue.cpp
    roce_address.cpp
    roce_path.cpp
    send_queue.cpp
    send_requests.cpp
    work_queues.cpp)
