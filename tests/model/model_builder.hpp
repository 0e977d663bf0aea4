// Small models out of the generated ONNX classes, and a folder that goes away with its test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "onnx/onnx.pb.h"

namespace precast::model {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "precast-model-XXXXXX").string();
    path_ = mkdtemp(pattern.data()) != nullptr ? pattern : std::string();
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a leftover folder fails no test
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  [[nodiscard]] std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline onnx::ModelProto empty_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(17);
  model.mutable_graph()->set_name("graph");
  return model;
}

inline void fill_external(onnx::TensorProto& tensor, const std::string& name, const std::string& location,
                          const std::string& offset = "", const std::string& length = "") {
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto entry = [&](const std::string& key, const std::string& value) {
    auto& pair = *tensor.add_external_data();
    pair.set_key(key);
    pair.set_value(value);
  };
  entry("location", location);
  if (!offset.empty()) entry("offset", offset);
  if (!length.empty()) entry("length", length);
}

inline onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  return attribute;
}

inline void add_value(onnx::ValueInfoProto& info, const std::string& name, onnx::TensorProto::DataType type) {
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

}  // namespace precast::model
