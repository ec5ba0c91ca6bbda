# Which programs are installed: those that somebody runs who does not work on Portcullis itself. One
# line each, "NAME COMPONENT what it is for": it is what `portcullis` lists and what the NAME of a
# manual page says. What a configuration does not build is left out.
include(GNUInstallDirs)
set(portcullis_programs
    "doctor programs says what a machine lacks before it can drive a card"
    "failover-check programs says which RDMA operations may be posted again after a failure"
    "fence-audit programs fences leases under load and looks what comes behind the answer"
    "first-light programs asks a card what is a promise or a hypothesis without one"
    "flow-probe programs says what the flow steering of a function does"
    "hca-server programs a ConnectX-5 in software, for virtual machines and other processes"
    "late-write programs shows what a WRITE can do that comes behind the fence of its lease"
    "lease-serve programs grants a lease to a client on another host, and takes it back"
    "lease-verify programs the client of a lease, on plain libibverbs"
    "leasectl programs asks leased for leases, and for their end"
    "leased service serves leases, and takes them back: the revoke as a service"
    "pfc-deadlock programs says whether a lossless fabric can lock up, when, and what helps"
    "prm-dump programs prints the layouts of the mlx5 interface"
    "roce-peer programs the asking end of an RC connection, on our own driver"
    "trace-diff programs compares two recordings of commands"
    "trace-import programs makes a recording of a kernel log with mlx5_core's dumps"
    "vfio-peer programs drives a ConnectX-5 through rdma-core's VFIO provider, and fences it")

# portcullis_installed_program(TARGET NAME COMPONENT SUMMARY): installs it with what its --help says
# as a manual page and as completions, made whenever the program is another. A program with
# sanitizers is for no prefix.
find_program(PORTCULLIS_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(pages ${PROJECT_BINARY_DIR}/docs/man)
function(portcullis_installed_program target name component summary)
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  if(NOT PORTCULLIS_PYTHON OR PORTCULLIS_SANITIZE)
    return()
  endif()
  add_custom_command(
    OUTPUT ${pages}/${name}.1 ${pages}/${name}.bash ${pages}/_${name} ${pages}/${name}.md
    COMMAND ${PORTCULLIS_PYTHON} -B ${PROJECT_SOURCE_DIR}/docs/man/pages.py
            --summary "${summary}" --version ${PROJECT_VERSION} --out ${pages}
            $<TARGET_FILE:${target}>
    DEPENDS ${target} ${PROJECT_SOURCE_DIR}/docs/man/pages.py ${PROJECT_SOURCE_DIR}/docs/man/help.py
    COMMENT "Manual page and completions of ${name}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY portcullis_pages ${pages}/${name}.1)
  install(FILES ${pages}/${name}.1 COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages}/${name}.bash COMPONENT ${component} RENAME ${name}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/_${name} COMPONENT ${component}
          DESTINATION ${PORTCULLIS_ZSH_DIR})
endfunction()
# zsh of Debian looks into vendor-completions for what packages bring, and else into site-functions.
set(PORTCULLIS_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
    "Where completions for zsh are installed")

set(rows "")
foreach(line ${portcullis_programs})
  string(REGEX MATCH "^([^ ]+) ([^ ]+) (.+)$" line "${line}")
  set(name ${CMAKE_MATCH_1})
  set(component ${CMAKE_MATCH_2})
  set(summary "${CMAKE_MATCH_3}")
  if(TARGET ${name})
    portcullis_installed_program(${name} ${name} ${component} "${summary}")
    string(APPEND rows "    {\"${name}\", \"${component}\", \"${summary}\"},\n")
  endif()
endforeach()

# What the programs name as docs/NAME.md.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        COMPONENT documents DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs COMPONENT documents
        DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN man EXCLUDE PATTERN site EXCLUDE PATTERN CMakeLists.txt EXCLUDE
        PATTERN "*_shown.py" EXCLUDE PATTERN __pycache__ EXCLUDE)
if(PORTCULLIS_PYTHON)  # without it they have links to sources, which lead nowhere
  install(CODE "
    set(there \"${CMAKE_INSTALL_DOCDIR}\")
    cmake_path(ABSOLUTE_PATH there BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    execute_process(COMMAND ${PORTCULLIS_PYTHON} -B ${PROJECT_SOURCE_DIR}/docs/site/installed.py
                            ${PROJECT_SOURCE_DIR} \"\$ENV{DESTDIR}\${there}\"
                    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT documents)
endif()

# `portcullis` knows them all, so it comes last.
add_subdirectory(tools/portcullis)
portcullis_installed_program(portcullis-command portcullis programs
                             "lists the programs of Portcullis, and runs them")
get_property(all_pages GLOBAL PROPERTY portcullis_pages)
if(all_pages)
  add_custom_target(pages ALL DEPENDS ${all_pages})
endif()
