# Debian packages, one a component of the installation, by CPack; `./dev package` makes and judges
# them, docs/install.md says what is in which. Everything in them follows from the commit: its name,
# its date (SOURCE_DATE_EPOCH unless given), sorted archives, no path of the tree.
set(SOURCE ${PROJECT_SOURCE_DIR})
include(${PROJECT_SOURCE_DIR}/cmake/Commit.cmake)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  portcullis_ask_git(epoch log -1 --format=%ct)
  if(NOT epoch MATCHES "^[0-9]+$")
    message(FATAL_ERROR "packages have the date of a commit: this is no clone; accepted: "
                        "SOURCE_DATE_EPOCH in the environment")
  endif()
  set(ENV{SOURCE_DATE_EPOCH} ${epoch})
endif()
set(epoch $ENV{SOURCE_DATE_EPOCH})

# A commit that is no release comes before the one it leads to; "+" is what was changed on top.
set(version ${PROJECT_VERSION})
portcullis_ask_git(tag tag --points-at HEAD --list v${PROJECT_VERSION})
if(NOT tag STREQUAL "v${PROJECT_VERSION}" OR PORTCULLIS_COMMIT MATCHES "-changed$")
  string(TIMESTAMP when "%Y%m%d%H%M%S" UTC)
  string(REPLACE "-changed" "+" commit "${PORTCULLIS_COMMIT}")
  set(version "${PROJECT_VERSION}~${when}.${commit}")
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

set(PORTCULLIS_MAINTAINER "The Portcullis authors <portcullis@packages.debian.org>" CACHE STRING
    "Who answers for the packages: NAME <ADDRESS>")
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# portcullis_package(COMPONENT NAME SECTION SUMMARY TEXT): its control fields, copyright, changelog.
set(CPACK_COMPONENTS_ALL "")
macro(portcullis_package component name section summary text)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}")
  set(made ${PROJECT_BINARY_DIR}/packaging/${name})
  file(WRITE ${made}/changelog
       "portcullis (${version}) unstable; urgency=medium\n\n"
       "  * Built of commit ${PORTCULLIS_COMMIT}.\n\n"
       " -- ${PORTCULLIS_MAINTAINER}  ${date}\n")
  install(FILES ${made}/changelog ${PROJECT_BINARY_DIR}/packaging/copyright COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name})
  if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/overrides/${component})
    configure_file(${PROJECT_SOURCE_DIR}/packaging/overrides/${component} ${made}/${name} COPYONLY)
    install(FILES ${made}/${name} COMPONENT ${component}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides)
  endif()
endmacro()

file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
string(REGEX MATCH "Copyright \\(c\\) [^\n]*" copyright "${license}")
string(REPLACE "Copyright (c) " "" copyright "${copyright}")
string(REGEX REPLACE "^.*Redistribution and use" "Redistribution and use" license "${license}")
string(STRIP "${license}" license)
string(REPLACE "\n" "\n " license "${license}")
string(REPLACE "\n \n" "\n .\n" license "${license}")
configure_file(${PROJECT_SOURCE_DIR}/packaging/copyright.in packaging/copyright @ONLY)

portcullis_package(library libportcullis${abi} libs
  "RDMA leases with a revocation fence, as a library"
  "Hands out RDMA leases on a ConnectX-5 and takes them away again, over DPDK
and VFIO, or on a ConnectX-5 in software. Also says what may be posted again
after an RDMA failure, and whether a lossless fabric can lock up.")
portcullis_package(development libportcullis-dev libdevel
  "RDMA leases with a revocation fence, headers"
  "What programs are built with that use libportcullis or
libportcullis-client: headers, a CMake package and a pkg-config file.")
portcullis_package(client libportcullis-client${abi} libs
  "client of leased, as a library for C"
  "Asks leased for RDMA leases, looks after them, and says what may be posted
again when one has ended. Needs no driver and no DPDK.")
portcullis_package(python python3-portcullis-client python
  "client of leased for Python"
  "The same as libportcullis-client, for Python: leases of leased, how they
ended, and what may be posted again.")
portcullis_package(programs portcullis-tools net
  "programs around RDMA leases on a ConnectX-5"
  "portcullis lists them: what a machine lacks before it can drive a card,
what a card does, whether a fence holds, which operations may be posted again
after a failure, whether a lossless fabric can lock up, and a ConnectX-5 in
software for virtual machines.")
portcullis_package(service portcullis-leased net
  "service that hands out RDMA leases and takes them away"
  "Owns an RDMA port and serves leases on it to clients of its host, or over
QUIC to those of others. A revoke fences the lease and is answered within a
second. The service is not started before somebody enables it: which port is
meant stands in /etc/portcullis/leased.toml.")
portcullis_package(documents portcullis-doc doc
  "documents of Portcullis"
  "What a revoke promises and what that rests on, one page for each program,
the protocol of leased, formats of files, and examples; the same as a site,
with the API reference, in /usr/share/doc/portcullis/html.")

# ---- What one has and the others have not ------------------------------------------------------

set(same "(= ${version})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libportcullis${abi} ${same}, libportcullis-client${abi} ${same}, libexpected-dev")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "libportcullis-client${abi} ${same}, python3:any, python3-cffi-backend (>= 1.15), python3-cffi")
# The EAL loads its PCI bus when it starts, so no program is linked with it. Its ABI is named for
# the year behind the long-term release: 23 of DPDK 22.11, 25 of 24.11.
string(REGEX MATCH "^[0-9]+" dpdk_year "${DPDK_VERSION}")
math(EXPR dpdk_abi "${dpdk_year} + 1")
set(eal_bus librte-bus-pci${dpdk_abi})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ${eal_bus})
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS ${eal_bus})
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "portcullis-leased, portcullis-doc")
# procps: the unit reloads by /bin/kill, which is not in every tree.
set(CPACK_DEBIAN_SERVICE_PACKAGE_DEPENDS
    "${eal_bus}, procps, systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_SERVICE_PACKAGE_RECOMMENDS "portcullis-tools")
set(CPACK_DEBIAN_SERVICE_PACKAGE_SUGGESTS "portcullis-doc")
foreach(component PYTHON DOCUMENTS)
  set(CPACK_DEBIAN_${component}_PACKAGE_ARCHITECTURE all)
endforeach()

# The site that `./dev docs` makes, of the pages as they are now.
set(site ${PROJECT_BINARY_DIR}/docs/site)
add_custom_target(site ALL
                  COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${epoch} TZ=UTC
                          ${PORTCULLIS_PYTHON} -B ${PROJECT_SOURCE_DIR}/docs/site/build.py
                          --pages ${pages} --out ${site}
                  COMMENT "The documents as a site" VERBATIM)
add_dependencies(site pages)
install(DIRECTORY ${site}/html COMPONENT documents DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN .buildinfo EXCLUDE)

install(FILES ${PROJECT_SOURCE_DIR}/tools/leased/leased.toml COMPONENT service
        DESTINATION /etc/portcullis)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/leased/portcullis.sysusers COMPONENT service
        DESTINATION lib/sysusers.d RENAME portcullis.conf)
foreach(script postinst prerm postrm conffiles)
  list(APPEND CPACK_DEBIAN_SERVICE_PACKAGE_CONTROL_EXTRA
       ${PROJECT_SOURCE_DIR}/packaging/leased/${script})
endforeach()
foreach(script postinst prerm)
  list(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
       ${PROJECT_SOURCE_DIR}/packaging/python/${script})
endforeach()

# ---- All of them -------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME portcullis)
set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_PACKAGE_CONTACT "${PORTCULLIS_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/debs)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES OFF)  # the linker has left symbols out, so that no build id is of a path
# leased.toml goes outside of the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/finish.cmake)
set(CPACK_PORTCULLIS_EPOCH ${epoch})
set(CPACK_PORTCULLIS_FINISH ${PORTCULLIS_PYTHON} -B ${PROJECT_SOURCE_DIR}/packaging/finish.py)
include(CPack)
