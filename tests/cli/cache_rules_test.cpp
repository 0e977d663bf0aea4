// Rules of the cache that show only from outside: other machines' states, other processes, bad input beside good
// entries.
#include <algorithm>
#include <csignal>

#include <sys/stat.h>

#include <gmock/gmock.h>

#include "fs/lock.hpp"
#include "store/store.hpp"
#include "support/models.hpp"
#include "support/one_processor.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class CacheRules : public ::testing::Test {
 protected:
  stdfs::path tiny(const std::string& name = "tiny.onnx", std::uint64_t seed = 1) {
    return make_model(folder_ / name, {.output = {}, .seed = seed});
  }
  nlohmann::json compile(const stdfs::path& model) const {
    return precast_.json(precast_.fake({"compile", model.native()}));
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(CacheRules, OneProcessorAndACopyOfTheEpElsewhereAreTheSameIdentity) {
  const auto model = tiny();
  const auto first = compile(model);
  ASSERT_EQ(first["outcome"], "compiled") << first.dump(2);
  {
    const OneProcessor here;
    EXPECT_EQ(compile(model)["outcome"], "hit");
  }
  const stdfs::path copy = folder_ / "elsewhere" / "lib" / fake_ep_library().filename();
  stdfs::create_directories(copy.parent_path());
  stdfs::copy_file(fake_ep_library(), copy);
  const auto from_copy =
      precast_.json({"--ep-library", "fake_ep=" + copy.native(), "compile", model.native(), "--ep", "fake_ep"});
  EXPECT_EQ(from_copy["outcome"], "hit") << from_copy.dump(2);
  EXPECT_EQ(from_copy["key"], first["key"]);
}

TEST_F(CacheRules, OtherBytesOfTheEpOrOfAnExtraFileAreAnotherIdentity) {
  const auto model = tiny();
  const auto first = compile(model);
  const stdfs::path patched = folder_ / fake_ep_library().filename();
  stdfs::copy_file(fake_ep_library(), patched);
  write_file(patched, read_file(patched) + "patch");
  const auto with_patch =
      precast_.json({"--ep-library", "fake_ep=" + patched.native(), "compile", model.native(), "--ep", "fake_ep"});
  EXPECT_EQ(with_patch["outcome"], "compiled") << with_patch.dump(2);
  EXPECT_NE(with_patch["key"], first["key"]);
  write_file(folder_ / "firmware", "one");
  const auto with_file =
      precast_.json(precast_.fake({"--ep-extra-file", (folder_ / "firmware").native(), "compile", model.native()}));
  EXPECT_NE(with_file["key"], first["key"]);
  write_file(folder_ / "firmware", "two");
  EXPECT_NE(precast_.json(
                precast_.fake({"--ep-extra-file", (folder_ / "firmware").native(), "compile", model.native()}))["key"],
            with_file["key"]);
  EXPECT_EQ(compile(model)["generation"], first["generation"]);
}

TEST_F(CacheRules, AnotherDriverIsAnotherIdentity) {
  const auto model = tiny();
  precast_.env["FAKE_EP_DRIVER"] = "31.0";
  const auto first = compile(model);
  precast_.env["FAKE_EP_DRIVER"] = "32.0";
  const auto second = compile(model);
  EXPECT_EQ(second["outcome"], "compiled") << second.dump(2);
  EXPECT_NE(second["key"], first["key"]);
  precast_.env["FAKE_EP_DRIVER"] = "31.0";
  EXPECT_EQ(compile(model)["generation"], first["generation"]);
}

TEST_F(CacheRules, BadInputLeavesEveryStoredGenerationAsItWas) {
  const auto model = make_model(folder_ / "model.onnx", {.output = {}, .external = true});
  const auto stored = compile(model);
  const auto another = compile(tiny());
  const std::string data = read_file(folder_ / "model.data");
  const auto as_it_was = [&] {
    for (const auto& entry : {stored, another}) {
      for (const auto& artifact : entry["artifacts"]) {
        const stdfs::path path =
            stdfs::path(entry["path"].get<std::string>()).parent_path() / artifact["path"].get<std::string>();
        EXPECT_TRUE(stdfs::exists(path)) << path;
      }
    }
    EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
    EXPECT_EQ(precast_.json({"cache", "ls"})["entries"].size(), 2U);
  };
  const std::string graph = read_file(model);
  const auto refused = [&](const std::string& words) {
    const Ran ran = precast_.run(precast_.fake({"compile", model.native()}));
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
    as_it_was();
  };
  write_file(folder_ / "model.data", data.substr(0, 7));
  refused("model.data");
  stdfs::remove(folder_ / "model.data");
  refused("model.data");
  write_file(folder_ / "model.data", data);
  write_file(model, graph.substr(0, graph.size() / 2));
  refused(model.native());
  write_file(model, "");
  refused(model.native());
  stdfs::remove(model);
  refused(model.native());
  stdfs::create_directory(model);
  refused(model.native());
  stdfs::remove(model);
  ASSERT_EQ(::mkfifo(model.c_str(), 0600), 0);
  refused(model.native());
  stdfs::remove(model);
  write_file(model, graph);
  EXPECT_EQ(compile(model)["generation"], stored["generation"]);
}

// A lease is asked for, and not given, while ORT is at work on the stored model.
TEST_F(CacheRules, TheLeaseIsHeldWhileOrtOpensAHit) {
  const auto model = tiny();
  const auto stored = compile(model);
  precast_.env["FAKE_EP_FAULT"] = "hang@load";
  const auto opening = precast_.start(precast_.fake({"resolve", model.native(), "--open"}));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "hang"));
  const store::Layout layout(precast_.store());
  const stdfs::path lease = layout.lease(stored["generation"].get<std::string>());
  const auto taken = fs::Lock::try_acquire(fs::FileSystem::posix(), lease, fs::LockKind::exclusive);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_FALSE(*taken);
  opening->signal(SIGKILL);
  (void)opening->wait();
  const auto free = fs::Lock::try_acquire(fs::FileSystem::posix(), lease, fs::LockKind::exclusive);
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_TRUE(*free);
}

TEST_F(CacheRules, ALockTimeoutIsOneWarningAndTheModelRuns) {
  const auto model = tiny();
  const auto stored = compile(model);
  auto store = store::Store::open(fs::FileSystem::posix(), {.root = precast_.store()});
  ASSERT_TRUE(store) << store.error().message;
  const auto held = (*store)->lock_key(stored["key"].get<std::string>(), {});
  ASSERT_TRUE(held) << held.error().message;
  const Ran ran =
      precast_.run(precast_.fake({"-q", "resolve", model.native(), "--rebuild", "--open", "--lock-timeout", "50ms"}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, model.native() + "\n");
  EXPECT_THAT(ran.err, HasSubstr("warning: "));
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
}

TEST_F(CacheRules, AFailureShowsTheEndOfTheCompilesLogAndLaterOnlyOneLine) {
  const auto model = tiny();
  precast_.env["FAKE_EP_FAULT"] = "flood=1@compile;fail@compile";
  const Ran first = precast_.run(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(first.code, 1);
  EXPECT_THAT(first.err, HasSubstr("last lines of the compile's log\n"));
  EXPECT_THAT(first.err, HasSubstr("a line of the flood\n"));
  const Ran later = precast_.run(precast_.fake({"-q", "resolve", model.native()}));
  EXPECT_EQ(later.code, 0);
  EXPECT_EQ(later.out, model.native() + "\n");
  EXPECT_THAT(later.err, HasSubstr("remembered"));
  EXPECT_EQ(std::ranges::count(later.err, '\n'), 1) << later.err;
}

// Where the marker cannot be written the program has the generation's lease all the same: no sweep takes it away.
TEST_F(CacheRules, AProgramHoldsTheLeaseOfAGenerationWithoutAMarker) {
  const auto model = tiny();
  const std::string key = compile(model)["key"];
  stdfs::remove_all(precast_.store());
  stdfs::create_directories(precast_.store() / "keys" / key.substr(0, 2) / key / "marker.1.json" / "in the way");
  const std::string script =
      "test -f \"$PRECAST_MODEL\" || exit 8; uuid=$(basename \"$(dirname \"$PRECAST_MODEL\")\"); "
      "flock --nonblock --exclusive '" +
      (precast_.store() / "leases").native() + "'/$uuid true && exit 9; echo $uuid";
  const Ran ran = precast_.run({"--ep-library", "fake_ep=" + fake_ep_library().native(), "resolve", model.native(),
                                "--ep", "fake_ep", "--exec", "--", "/bin/sh", "-c", script});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(stdfs::exists(precast_.store() / "generations" / ran.out.substr(0, ran.out.find('\n')))) << ran.out;
}

}  // namespace
}  // namespace precast::testing
