# Manual pages, documents, and the Debian package (make deb).
#
#   /usr/bin/gnomon                         small: `gnomon run`; finds the rest relative to itself, so below any prefix
#   /usr/lib/<multiarch>/gnomon/gnomon-commands   all other commands, and the agent of a host
#   /usr/lib/<multiarch>/gnomon/libgnomon.so   preloaded into measured programs; private, no soname to link with
#   /usr/lib/<multiarch>/gnomon/libgnomon-activities.so   likewise, copies of it (x86-64)
#   /usr/lib/<multiarch>/gnomon/libgnomon-transport.*.so   one per MPI, for several processes that repair one trace
#   /usr/include/gnomon.h                   for programs that name their own regions
#   /usr/share/man, /usr/share/doc/gnomon

file(GLOB gnomon_pages_1 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.1)
file(GLOB gnomon_pages_3 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.3)
file(GLOB gnomon_documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${gnomon_pages_1} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${gnomon_pages_3} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${gnomon_documents} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gnomon)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "gnomon developers <gnomon@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tells what an MPI program spent its time on")
set(CPACK_PACKAGE_DESCRIPTION "gnomon measures unmodified MPI programs, Open MPI's and MPICH's alike.
For every call path and for the computation between two calls it keeps counts, times and sizes in constant space,
names the source lines, says which rank holds the others up, and what the measuring itself has cost.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin | mpich")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "sqlite3")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
