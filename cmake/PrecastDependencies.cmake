# Where precast's libraries come from: Debian packages for everything but ORT, whose headers come from
# ONNXRUNTIME_ROOT or, by default, from the checkout's .deps. ORT itself is found and loaded at run time.

find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

set(PRECAST_DEPS ${PROJECT_SOURCE_DIR}/.deps)
if(ONNXRUNTIME_ROOT)
  set(PRECAST_ORT_ROOT ${ONNXRUNTIME_ROOT})
else()
  set(PRECAST_ORT_ROOT ${PRECAST_DEPS}/ort)
endif()
find_path(PRECAST_ORT_INCLUDE onnxruntime_c_api.h NO_DEFAULT_PATH NO_CACHE
  PATHS ${PRECAST_ORT_ROOT}/include ${PRECAST_ORT_ROOT}/include/onnxruntime)
if(NOT PRECAST_ORT_INCLUDE)
  message(FATAL_ERROR "No onnxruntime_c_api.h under ${PRECAST_ORT_ROOT}/include: run tools/setup build, "
    "or give -DONNXRUNTIME_ROOT=<an unpacked ONNX Runtime release>")
endif()
# Programs look for ORT in ../lib first, so what is built against a release also runs on it.
set(PRECAST_ORT_LINK ${PROJECT_BINARY_DIR}/lib)
if(IS_SYMLINK ${PRECAST_ORT_LINK})
  file(REMOVE ${PRECAST_ORT_LINK})
endif()
if(ONNXRUNTIME_ROOT)
  file(CREATE_LINK ${PRECAST_ORT_ROOT}/lib ${PRECAST_ORT_LINK} SYMBOLIC)
endif()
add_library(precast_ort_headers INTERFACE)
target_include_directories(precast_ort_headers SYSTEM INTERFACE ${PRECAST_ORT_INCLUDE})
target_compile_definitions(precast_ort_headers INTERFACE ORT_API_MANUAL_INIT)

# Static where Debian has archives: a process that opens a hit should not spend its time in the dynamic linker.
find_library(PRECAST_CRYPTO_ARCHIVE NAMES libcrypto.a libcrypto.so REQUIRED)
add_library(precast_crypto INTERFACE)
target_link_libraries(precast_crypto INTERFACE ${PRECAST_CRYPTO_ARCHIVE} ${CMAKE_DL_LIBS} Threads::Threads)

find_library(PRECAST_PROTOBUF_LITE_ARCHIVE NAMES libprotobuf-lite.a libprotobuf-lite.so REQUIRED)
# Debian's archive of protobuf cannot be part of a shared library (its thread-local variables are a program's).
find_library(PRECAST_PROTOBUF_LITE_SHARED NAMES libprotobuf-lite.so REQUIRED)
set(in_shared_library $<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>)
add_library(precast_protobuf_lite INTERFACE)
target_link_libraries(precast_protobuf_lite INTERFACE
  $<IF:${in_shared_library},${PRECAST_PROTOBUF_LITE_SHARED},${PRECAST_PROTOBUF_LITE_ARCHIVE}> Threads::Threads)

add_library(precast_json INTERFACE)
target_link_libraries(precast_json INTERFACE nlohmann_json::nlohmann_json)

# .npz files; static for the same reason.
find_library(PRECAST_MINIZIP_ARCHIVE NAMES libminizip.a libminizip.so REQUIRED)
find_library(PRECAST_ZLIB_ARCHIVE NAMES libz.a libz.so REQUIRED)
add_library(precast_zip INTERFACE)
target_link_libraries(precast_zip INTERFACE ${PRECAST_MINIZIP_ARCHIVE} ${PRECAST_ZLIB_ARCHIVE})
