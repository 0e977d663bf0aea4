#include "compile/cache_options.hpp"

#include <gtest/gtest.h>

#include "support/program.hpp"

namespace precast::compile {
namespace {

const ort::EpSpec* openvino() {
  return ort::find_ep("openvino");
}

TEST(CacheOptions, AnInlineCacheFolderIsRedirectedAndDropped) {
  const Options options{{"load_config", R"({"CPU":{"CACHE_DIR":"/tmp/x","INFERENCE_PRECISION_HINT":"f32"}})"},
                        {"other", "1"}};
  EXPECT_EQ(redirect_cache_options(openvino(), options, "/private"),
            (Options{{"load_config", R"({"CPU":{"CACHE_DIR":"/private","INFERENCE_PRECISION_HINT":"f32"}})"},
                     {"other", "1"}}));
  EXPECT_EQ(drop_cache_options(openvino(), options),
            (Options{{"load_config", R"({"CPU":{"INFERENCE_PRECISION_HINT":"f32"}})"}, {"other", "1"}}));
}

TEST(CacheOptions, AFilesCacheFolderIsRedirectedToo) {
  const precast::testing::Folder folder;
  precast::testing::write_file(folder / "config.json", R"({"CACHE_DIR":"here"})");
  const Options options{{"load_config", (folder / "config.json").native()}};
  EXPECT_EQ(redirect_cache_options(openvino(), options, "/private").at("load_config"), R"({"CACHE_DIR":"/private"})");
}

TEST(CacheOptions, WhatHoldsNoCacheIsLeftToTheLetter) {
  const precast::testing::Folder folder;
  precast::testing::write_file(folder / "config.json", R"({ "CPU" : {} })");
  const Options options{{"load_config", (folder / "config.json").native()}, {"device_id", "0"}};
  EXPECT_EQ(redirect_cache_options(openvino(), options, "/private"), options);
  const Options broken{{"load_config", "{not json"}};
  EXPECT_EQ(redirect_cache_options(openvino(), broken, "/private"), broken);
}

TEST(CacheOptions, ADeclaredCacheOptionIsRedirectedAndDropped) {
  const Options options{{"cache_dir", "/tmp/x"}, {"a", "b"}};
  EXPECT_EQ(redirect_cache_options(openvino(), options, "/private"), (Options{{"cache_dir", "/private"}, {"a", "b"}}));
  EXPECT_EQ(drop_cache_options(openvino(), options), (Options{{"a", "b"}}));
}

}  // namespace
}  // namespace precast::compile
