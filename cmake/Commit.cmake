# cmake -DSOURCE=DIR -DOUTPUT=FILE [-DPORTCULLIS_COMMIT=TEXT] -P Commit.cmake: program/commit.cpp.in
# with the commit that is built, written only when that is another. Included, it only sets
# PORTCULLIS_COMMIT, as `./dev bench` names a run: ten digits, "-changed" with changes on top,
# "unknown" outside of a clone of its own.
if(NOT SOURCE)
  set(SOURCE ${PROJECT_SOURCE_DIR})
endif()

function(portcullis_ask_git out)
  execute_process(COMMAND git -C ${SOURCE} ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE TIMEOUT 60)
  if(NOT status EQUAL 0)
    set(text "unknown")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

if(NOT PORTCULLIS_COMMIT)
  # A tree unpacked inside somebody's clone is no commit of that.
  portcullis_ask_git(above rev-parse --show-cdup)
  set(PORTCULLIS_COMMIT "unknown")
  if(above STREQUAL "")
    portcullis_ask_git(PORTCULLIS_COMMIT rev-parse --short=10 HEAD)
    portcullis_ask_git(changes status --porcelain)
    if(NOT PORTCULLIS_COMMIT STREQUAL "unknown" AND NOT changes STREQUAL "")
      string(APPEND PORTCULLIS_COMMIT "-changed")
    endif()
  endif()
endif()
if(OUTPUT)
  configure_file(${SOURCE}/program/commit.cpp.in ${OUTPUT} @ONLY)
endif()
