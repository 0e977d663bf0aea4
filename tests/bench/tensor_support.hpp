// Tensors of a line each, and files made by hand.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include "bench/tensor_files.hpp"
#include "model/model_builder.hpp"

namespace precast::bench {

using model::TemporaryFolder;
using Type = onnx::TensorProto;

template <typename T>
tensor::Tensor make_tensor(std::int32_t type, std::vector<std::int64_t> shape, std::initializer_list<T> values) {
  tensor::Tensor tensor{.element_type = type, .shape = std::move(shape)};
  tensor.bytes.resize(values.size() * sizeof(T));
  if (values.size() > 0) std::memcpy(tensor.bytes.data(), values.begin(), tensor.bytes.size());
  return tensor;
}

inline tensor::Tensor floats(std::vector<std::int64_t> shape, std::initializer_list<float> values) {
  return make_tensor<float>(Type::FLOAT, std::move(shape), values);
}

inline tensor::Tensor texts(std::vector<std::int64_t> shape, std::vector<std::string> strings) {
  return {.element_type = Type::STRING, .shape = std::move(shape), .strings = std::move(strings)};
}

// A .npy of version 1.0, with the dict as it is given.
inline std::string npy_of(std::string_view dict, std::string_view values) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(dict.size() & 0xFFU);
  bytes += static_cast<char>(dict.size() >> 8U);
  return bytes.append(dict).append(values);
}

inline std::string npy_of_type(std::string_view descr, std::string_view shape, std::string_view values) {
  return npy_of("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': " + std::string(shape) + "}",
                values);
}

struct ZipEntry {
  std::string name;
  std::string bytes;
  bool deflated = false;
};

inline void make_zip(const std::filesystem::path& path, const std::vector<ZipEntry>& entries) {
  zipFile archive = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  ASSERT_NE(archive, nullptr);
  const zip_fileinfo info{};
  for (const ZipEntry& entry : entries) {
    const int method = entry.deflated ? Z_DEFLATED : 0;
    const int level = entry.deflated ? Z_BEST_COMPRESSION : 0;
    ASSERT_EQ(
        zipOpenNewFileInZip64(archive, entry.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, method, level, 0),
        ZIP_OK);
    ASSERT_EQ(zipWriteInFileInZip(archive, entry.bytes.data(), static_cast<unsigned>(entry.bytes.size())), ZIP_OK);
    ASSERT_EQ(zipCloseFileInZip(archive), ZIP_OK);
  }
  ASSERT_EQ(zipClose(archive, nullptr), ZIP_OK);
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::filesystem::path golden(std::string_view name) {
  return std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/bench/data" / name;
}

// The one array of a folder in which these bytes are x.npy.
inline Result<StoredTensor> read_npy_bytes(std::string_view bytes) {
  const TemporaryFolder folder;
  (void)folder.write("x.npy", bytes);
  auto tensors = read_tensors(folder / "", {});
  if (!tensors) return std::unexpected(tensors.error());
  return tensors->at("x");
}

template <typename T>
void expect_bad(const Result<T>& result, const std::string& file, const std::string& words) {
  ASSERT_FALSE(result) << words;
  EXPECT_EQ(result.error().code, ErrorCode::bad_input) << result.error().message;
  EXPECT_THAT(result.error().message, testing::AllOf(testing::HasSubstr(file), testing::HasSubstr(words)));
  EXPECT_FALSE(result.error().hint.empty()) << result.error().message;
}

inline void expect_bad_npy(std::string_view bytes, const std::string& words) {
  expect_bad(read_npy_bytes(bytes), "x.npy'", words);
}

}  // namespace precast::bench
