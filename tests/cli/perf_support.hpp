// A model that perf measures on the fake EP.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {

class PerfOnFake : public ::testing::Test {
 protected:
  PerfOnFake() { precast_.env["XDG_STATE_HOME"] = (folder_ / "state").native(); }

  std::filesystem::path tiny(model_generator::Kind kind = model_generator::Kind::tiny) {
    return make_model(folder_ / "tiny.onnx", {.kind = kind, .output = {}});
  }
  // Without an EP.
  [[nodiscard]] static std::vector<std::string> perf(const std::filesystem::path& model,
                                                     std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"perf", model.native(), "--iterations", "5", "--warmup", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  [[nodiscard]] std::vector<std::string> on_fake(const std::filesystem::path& model,
                                                 std::vector<std::string> more = {}) const {
    return precast_.fake(perf(model, std::move(more)));
  }
  // With the fake EP's library, beside which others may be named.
  [[nodiscard]] static std::vector<std::string> with_fake(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--ep-library", "fake_ep=" + fake_ep_library().native()});
    return arguments;
  }
  [[nodiscard]] nlohmann::json report(const std::vector<std::string>& arguments, int wanted = 0) const {
    int code = -1;
    const nlohmann::json document = precast_.json(arguments, &code);
    EXPECT_EQ(code, wanted) << document.dump(2);
    return document.value("report", nlohmann::json());
  }
  void expect_error(const std::vector<std::string>& arguments, int code, const std::vector<std::string>& words) const {
    const Ran ran = precast_.run(arguments);
    EXPECT_EQ(ran.code, code) << ran.err;
    for (const std::string& one : words) EXPECT_THAT(ran.err, ::testing::HasSubstr(one));
    EXPECT_EQ(ran.out, "");
  }
  [[nodiscard]] std::size_t compiles() const { return count_events(precast_.trace(), "compile_begin"); }
  [[nodiscard]] std::size_t runs() const { return count_events(precast_.trace(), "run"); }

  Precast precast_;
  Folder folder_;
};

}  // namespace precast::testing
