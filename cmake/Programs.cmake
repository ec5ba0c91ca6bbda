# Which programs are installed: those that somebody runs who does not work on Portcullis itself.
# What a configuration does not build is left out.
include(GNUInstallDirs)
foreach(program doctor failover-check fence-audit first-light flow-probe hca-server lease-serve
                lease-verify
                leasectl leased pfc-deadlock prm-dump roce-peer trace-diff trace-import
                vfio-peer)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endforeach()
if(EXISTS ${PROJECT_SOURCE_DIR}/docs/man)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ COMPONENT programs
          DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
endif()
