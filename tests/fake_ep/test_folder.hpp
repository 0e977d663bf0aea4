#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <gmock/gmock.h>
#include <stdlib.h>

#include "host.hpp"
#include "model_generator/model_generator.hpp"

namespace precast::fake_ep::test {

// A folder of its own for each test, with the models that it asks for.
class FakeEpTest : public testing::Test {
 protected:
  FakeEpTest() {
    std::string name = std::filesystem::temp_directory_path() / "precast-fake-ep-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    folder_ = name;
  }
  ~FakeEpTest() override {
    std::error_code ignored;  // a folder left behind in /tmp fails no test
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return folder_ / name; }

  std::string model(model_generator::Kind kind = model_generator::Kind::tiny) const {
    model_generator::Options options;
    options.kind = kind;
    options.output = path("model.onnx");
    const auto made = model_generator::generate(options);
    if (!made) throw std::runtime_error(made.error().message);
    return options.output;
  }

  std::string compile_step(const std::string& source, const std::string& output, bool embedded = false) const {
    return "compile=" + source + "," + path(output) + "," + (embedded ? "embedded" : "external");
  }

  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  std::string content(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  std::ptrdiff_t count_events(const std::string& event) const {
    return std::ranges::count(events(path("trace")), event);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace precast::fake_ep::test
