// Generations with real EPContext models in them, and a folder to publish them into.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/publish.hpp"
#include "store/support.hpp"

namespace precast::store::testing {

struct ContextNode {
  std::string reference;  // or, embedded, the bytes
  std::string partition{};
  bool embedded = false;
  bool main = true;
};
// A compiled model of these nodes; `tag` makes it another one.
[[nodiscard]] std::string context_model(const std::vector<ContextNode>& nodes, const std::string& tag = {});
// The references in such a file, in order.
[[nodiscard]] std::vector<std::string> references_of(const std::filesystem::path& model);

using Files = std::map<std::string, std::string>;  // name -> bytes
// Everything in a folder but temporary files.
[[nodiscard]] Files files_in(const std::filesystem::path& folder);
[[nodiscard]] std::size_t temporaries_in(const std::filesystem::path& folder);

class PublishTest : public ::testing::Test {
 protected:
  PublishTest();

  // Stored for good; the lease is held to the end of the test.
  const Hit& generation(const std::string& name, const Files& files);
  // One main node that refers to "model_npu.bin", which has these bytes.
  const Hit& simple_generation(const std::string& bytes);

  [[nodiscard]] PublishRequest request(bool overwrite = false) const;
  Result<Published> publish_to_output(const Hit& hit, bool overwrite = false);
  Published must_publish(const Hit& hit, bool overwrite = false);
  // Fails, and leaves the folder and the record as they were.
  void expect_refused(const Result<Published>& result, const Files& before, ErrorCode code, const std::string& words);
  [[nodiscard]] std::string record_text() const;  // the only one; empty if there is none

  TemporaryFolder folder_;
  std::filesystem::path source_ = folder_ / "net.onnx";
  std::filesystem::path out_ = folder_ / "out";
  std::filesystem::path output_ = out_ / "net_npu.onnx";
  TestFileSystem fs_;
  TestClock clock_;
  std::unique_ptr<Store> store_;
  std::vector<std::unique_ptr<Hit>> hits_;
};

// The published name of a binary.
[[nodiscard]] std::string content_name(const std::string& alias, const std::string& bytes);

}  // namespace precast::store::testing
