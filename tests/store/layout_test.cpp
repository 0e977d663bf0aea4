#include "store/layout.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace precast::store {
namespace {

TEST(Layout, NamesAreAsDocumented) {
  const Layout layout("/r");
  const std::string key = "ab" + std::string(62, '0');
  EXPECT_EQ(layout.version(), "/r/version");
  EXPECT_EQ(layout.cachedir_tag(), "/r/CACHEDIR.TAG");
  EXPECT_EQ(layout.key_lock(key), "/r/keys/ab/" + key + "/lock");
  EXPECT_EQ(layout.marker(key), "/r/keys/ab/" + key + "/marker.1.json");
  EXPECT_EQ(layout.failed(key), "/r/keys/ab/" + key + "/failed.1.json");
  EXPECT_EQ(layout.generation("u"), "/r/generations/u");
  EXPECT_EQ(layout.lease("u"), "/r/leases/u");
  EXPECT_EQ(layout.work("u"), "/r/tmp/u");
  EXPECT_EQ(layout.locks(), "/r/locks");
  EXPECT_EQ(layout.digests(), "/r/digests");
  EXPECT_EQ(layout.facts(), "/r/facts");
  EXPECT_EQ(layout.publish_record(key), "/r/publish/" + key + ".1.json");
  EXPECT_EQ(layout.publish_lock(key), "/r/locks/publish." + key);
  EXPECT_EQ(layout.stats(), "/r/stats.1");
}

class DefaultRoot : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"PRECAST_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
      if (const char* value = std::getenv(name)) before_.emplace_back(name, value);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : {"PRECAST_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(DefaultRoot, IsTheFirstThatIsGiven) {
  EXPECT_EQ(default_root(""), "");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_root(""), "/home/me/.cache/precast");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(default_root(""), "/xdg/precast");
  setenv("PRECAST_CACHE_DIR", "/chosen", 1);
  EXPECT_EQ(default_root(""), "/chosen");
  EXPECT_EQ(default_root("/given"), "/given");
}

TEST_F(DefaultRoot, IgnoresWhatIsEmptyOrMayNotBeRelative) {
  setenv("PRECAST_CACHE_DIR", "", 1);
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_root(""), "");
  setenv("HOME", "relative", 1);
  EXPECT_EQ(default_root(""), "");
}

TEST_F(DefaultRoot, IsMadeAbsolute) {
  EXPECT_EQ(default_root("here"), std::filesystem::current_path() / "here");
  setenv("PRECAST_CACHE_DIR", "there", 1);
  EXPECT_EQ(default_root(""), std::filesystem::current_path() / "there");
}

}  // namespace
}  // namespace precast::store
