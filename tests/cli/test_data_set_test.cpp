// ONNX's folders of test data: inputs, and the outputs that are expected, for run and perf.
#include <cstring>

#include <gmock/gmock.h>

#include "bench/tensor_files.hpp"
#include "cli/perf_support.hpp"

namespace precast::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::size_t kValues = 8;

// A TensorProto of float [1, 8]; its fields: dims 1, data_type 2, name 8, raw_data 9.
std::string tensor_proto(const std::string& name, std::span<const std::byte> raw) {
  std::string bytes = {0x08, 0x01, 0x08, kValues, 0x10, 0x01};
  if (!name.empty()) bytes += std::string{0x42, static_cast<char>(name.size())} + name;
  bytes += std::string{0x4a, static_cast<char>(raw.size())};
  return bytes.append(reinterpret_cast<const char*>(raw.data()), raw.size());
}

class TestDataSet : public PerfOnFake {
 protected:
  TestDataSet() : model_(tiny()) {
    const json run = precast_.json({"run", model_.native(), "--ep", "cpu", "--output-data",
                                    (folder_ / "out.npz").native(), "--input-data", inputs().native()});
    const auto outputs = bench::read_tensors(folder_ / "out.npz", {});
    EXPECT_TRUE(outputs) << run.dump(2);
    output_ = outputs->begin()->first;
    expected_ = outputs->begin()->second.tensor.bytes;
  }
  // The folder, with input_0.pb.
  [[nodiscard]] std::filesystem::path inputs() const {
    const std::filesystem::path folder = folder_ / "test_data_set_0";
    std::filesystem::create_directories(folder);
    std::vector<float> values(kValues, 0.5F);
    write_file(folder / "input_0.pb", tensor_proto("", std::as_bytes(std::span(values))));
    return folder;
  }
  void expect_output(const std::string& name, const std::vector<std::byte>& bytes) const {
    write_file(inputs() / "output_0.pb", tensor_proto(name, bytes));
  }
  [[nodiscard]] std::vector<std::string> command(const std::string& name) const {
    return {name, model_.native(), "--ep", "cpu", "--input-data", inputs().native(), "--check"};
  }
  [[nodiscard]] json check(const std::string& name, int wanted) const {
    int code = -1;
    const json document = precast_.json(command(name), &code);
    EXPECT_EQ(code, wanted) << document.dump(2);
    return name == "run" ? document.value("check", json()) : document["report"].value("check", json());
  }

  std::filesystem::path model_;
  std::string output_;
  std::vector<std::byte> expected_;
};

TEST_F(TestDataSet, ExpectedOutputsThatAgree) {
  expect_output("", expected_);
  for (const char* name : {"run", "perf"}) {
    const json checked = check(name, 0);
    EXPECT_EQ(checked["expected_source"], inputs().native());
    ASSERT_THAT(checked["expected_outputs"], SizeIs(1));
    EXPECT_EQ(checked["expected_outputs"][0]["name"], output_);
    EXPECT_EQ(checked["expected_outputs"][0]["max_abs"], 0);
  }
}

TEST_F(TestDataSet, ExpectedOutputsThatDoNotAgreeAreAnErrorThoughTheCpuAgrees) {
  std::vector<float> wrong(kValues);
  std::memcpy(wrong.data(), expected_.data(), expected_.size());
  for (float& value : wrong) value = -value - 1;
  const auto bytes = std::as_bytes(std::span(wrong));
  expect_output(output_, {bytes.begin(), bytes.end()});
  for (const char* name : {"run", "perf"}) {
    const json checked = check(name, 1);
    EXPECT_EQ(checked["outputs"][0]["ok"], true);
    EXPECT_EQ(checked["expected_outputs"][0]["ok"], false);
    EXPECT_EQ(checked["ok"], false);
  }
}

TEST_F(TestDataSet, WithoutExpectedOutputsTheCpuAloneIsCompared) {
  const json checked = check("perf", 0);
  EXPECT_TRUE(checked["expected_source"].is_null());
  EXPECT_THAT(checked["expected_outputs"], SizeIs(0));
}

TEST_F(TestDataSet, AnOutputThatTheModelHasNotIsNamed) {
  expect_output("nosuch", expected_);
  for (const char* name : {"run", "perf"}) {
    const Ran ran = precast_.run(command(name));
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("expects an output 'nosuch'"));
    EXPECT_THAT(ran.err, HasSubstr("output_0.pb"));
  }
}

}  // namespace
}  // namespace precast::testing
