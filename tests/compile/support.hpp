// The resolver in a test's own process, on real ORT and the fake EP.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "compile/resolver.hpp"
#include "fs/counting_file_system.hpp"
#include "support/program.hpp"

namespace precast::compile::testing {

// ORT and the fake EP ("fake_ep"), loaded once per process, and ORT's own CPU EP.
[[nodiscard]] ort::Catalog& catalog();

class ResolverTest : public ::testing::Test {
 protected:
  ResolverTest();
  ~ResolverTest() override;

  // As a new process would see the store: nothing in memory.
  void reopen() { open_store(folder_ / "store"); }
  void open_store(const std::filesystem::path& root);
  std::filesystem::path model(const std::string& name = "model.onnx", bool external = true);
  static Request request(const std::filesystem::path& model);
  Resolution resolve(const Request& what);
  [[nodiscard]] std::filesystem::path trace() const { return folder_ / "trace"; }
  [[nodiscard]] std::size_t compiles() const { return precast::testing::count_events(trace(), "compile_begin"); }
  // A digest of a file that changed within the clock's granularity is not remembered.
  static void let_times_pass();

  precast::testing::Folder folder_;
  fs::CountingFileSystem files_{fs::FileSystem::posix()};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Resolver> resolver_;
};

}  // namespace precast::compile::testing
