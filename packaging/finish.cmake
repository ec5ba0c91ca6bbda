# What CPack runs when its packages are made: they are packed again, so that they are the same
# wherever that is done.
execute_process(COMMAND ${CPACK_PORTCULLIS_FINISH} ${CPACK_PORTCULLIS_EPOCH} ${CPACK_PACKAGE_FILES}
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "packing again failed")
endif()
