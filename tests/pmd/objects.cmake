# Objects and the data path, judged by bytes: commands against the kernel's mlx5_ifc.h, WQEs and
# CQEs against rdma-core's mlx5dv.h.
portcullis_enable_c()

add_library(ifc_fields STATIC ifc_fields.c)
target_include_directories(ifc_fields PRIVATE ${PROJECT_SOURCE_DIR} ${mlx5_headers})
set_target_properties(ifc_fields PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)

portcullis_test(pmd_objects_test
                completion_test.cpp
                fence_commands_test.cpp
                object_commands_test.cpp
                port_test.cpp
                queue_pair_test.cpp
                receive_queue_test.cpp
                receive_target_test.cpp
                refused_commands_test.cpp
                rights_test.cpp
                roce_test.cpp
                send_queue_test.cpp
                send_requests_test.cpp
                umr_queue_test.cpp
                LINKS portcullis_pmd ifc_fields)

# The same, whole, against the model: stepped, and on a core of its own.
portcullis_test(pmd_loopback_test
                loopback_device_memory_test.cpp
                loopback_steering_memory_test.cpp
                loopback_requests_test.cpp
                loopback_test.cpp
                LINKS portcullis_pmd portcullis_model)
portcullis_test(pmd_loopback_polled_test
                loopback_polled_test.cpp
                loopback_requests_polled_test.cpp
                LINKS portcullis_pmd portcullis_model
                LABELS polled)
