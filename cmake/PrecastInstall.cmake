# What `cmake --install` gives: the programs, libprecast.so with its headers, and the CMake package "precast" (target
# precast::precast). A program that uses it needs ORT's headers, and finds ORT itself at run time.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The public functions that stand in lower layers come as sources: an archive gives only what is asked of it.
file(GLOB PRECAST_API_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/api/*.cpp)
add_library(precast_shared SHARED ${PRECAST_API_SOURCES} src/util/error.cpp src/compile/outcome.cpp)
precast_options(precast_shared)
target_link_libraries(precast_shared PRIVATE precast_genai fmt::fmt-header-only)
if(PRECAST_SANITIZE)
  # Its sources are tested in the archive; an instrumented library wants an instrumented program.
  set_target_properties(precast_shared PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()
# Nothing of the archives' own is shown.
target_link_options(precast_shared PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(precast_shared PROPERTIES OUTPUT_NAME precast VERSION ${PROJECT_VERSION} SOVERSION 0
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/shared)

install(TARGETS precast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS precast-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/precast)
install(TARGETS precast_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/precast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(PRECAST_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/precast)
configure_package_config_file(cmake/precast-config.cmake.in ${PROJECT_BINARY_DIR}/precast-config.cmake
  INSTALL_DESTINATION ${PRECAST_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/precast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/precast-config.cmake ${PROJECT_BINARY_DIR}/precast-config-version.cmake
  DESTINATION ${PRECAST_CMAKE_DIR})
