#include <atomic>
#include <fstream>

#include "api/support.hpp"

namespace precast {
namespace {

using ::testing::HasSubstr;
using testing::Library;
using testing::values_of;
namespace stdfs = std::filesystem;

// Models that are in no file.
class InMemory : public Library {
 protected:
  std::vector<std::byte> bytes_of(const stdfs::path& path) {
    const std::string text = testing::read_file(path);
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }
  stdfs::path external_model() {
    stdfs::create_directory(folder_ / "with-data");
    const auto path = testing::make_model(folder_ / "with-data" / "model.onnx", {.output = {}, .external = true});
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return path;
  }
};

TEST_F(InMemory, TheSameBytesInAFileAreTheSameModel) {
  const auto path = model();
  const auto bytes = bytes_of(path);
  const auto from_memory = cache().resolve(ModelBytes{bytes, {}}, on_fake_ep());
  ASSERT_TRUE(from_memory) << from_memory.error().message;
  EXPECT_EQ(from_memory->outcome(), Outcome::compiled);
  const auto from_file = cache().resolve(path, on_fake_ep());
  ASSERT_TRUE(from_file);
  EXPECT_EQ(from_file->outcome(), Outcome::hit);
  EXPECT_EQ(from_file->key(), from_memory->key());
  EXPECT_EQ(events("compile_begin"), 1U);
}

TEST_F(InMemory, ExternalDataIsFoundInTheFolderThatIsGivenAndIsPartOfTheIdentity) {
  const auto path = external_model();
  const auto bytes = bytes_of(path);
  const ModelBytes given{bytes, path.parent_path()};
  const auto first = cache().resolve(given, on_fake_ep());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->outcome(), Outcome::compiled);
  EXPECT_EQ(cache().resolve(path, on_fake_ep())->key(), first->key());
  std::fstream data(path.parent_path() / "model.data", std::ios::in | std::ios::out | std::ios::binary);
  data.seekp(0);
  data.put('x');
  data.close();
  EXPECT_NE(cache().resolve(given, on_fake_ep())->key(), first->key());
  const auto without = cache().resolve(ModelBytes{bytes, {}}, on_fake_ep());
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::bad_input);
  EXPECT_THAT(without.error().message, HasSubstr("no folder is given"));
}

TEST_F(InMemory, ASessionRunsItCompiledAndAsSourceWithTheSameNumbers) {
  const auto path = external_model();
  const auto bytes = bytes_of(path);
  Session compiled(cache(), ModelBytes{bytes, path.parent_path()}, on_fake_ep());
  ASSERT_TRUE(compiled.open());
  EXPECT_EQ(compiled.outcome(), Outcome::compiled);
  CompileOptions cpu;
  cpu.ep = "cpu";
  Session source(cache(), ModelBytes{bytes, path.parent_path()}, cpu);
  const auto opened = source.open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(source.running_path(), stdfs::path());
  const auto a = values_of(*compiled.run(inputs(compiled)));
  const auto b = values_of(*source.run(inputs(source)));
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST_F(InMemory, BadBytesAreBadInputAndNothingIsWrittenIntoTheWorkingDirectory) {
  const stdfs::path before = stdfs::current_path();
  stdfs::create_directory(folder_ / "cwd");
  stdfs::current_path(folder_ / "cwd");
  const std::vector<std::byte> garbage(100, std::byte{0xAB});
  const auto refused = cache().resolve(ModelBytes{garbage, {}}, on_fake_ep());
  const auto bytes = bytes_of(model());
  const auto compiled = cache().resolve(ModelBytes{bytes, {}}, on_fake_ep());
  stdfs::current_path(before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_TRUE(compiled);
  EXPECT_TRUE(stdfs::is_empty(folder_ / "cwd"));
}

TEST_F(InMemory, ManyThreadsAtOnceMakeOneCompile) {
  const auto bytes = bytes_of(model());
  const CompileCache shared = cache();
  ::setenv("FAKE_EP_FAULT", "slow=200@compile", 1);
  std::vector<std::thread> threads;
  threads.reserve(6);
  std::atomic<int> compiled{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const auto answer = shared.resolve(ModelBytes{bytes, {}}, on_fake_ep());
      EXPECT_TRUE(answer && answer->compiled());
      if (answer && answer->outcome() == Outcome::compiled) ++compiled;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(events("compile_begin"), 1U);
}

}  // namespace
}  // namespace precast
