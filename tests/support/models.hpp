// Models for tests, made by the generator.
#pragma once

#include <filesystem>
#include <utility>

#include <gtest/gtest.h>

#include "model_generator/model_generator.hpp"

namespace precast::testing {

// The model that `options` describe, as `output`.
inline std::filesystem::path make_model(const std::filesystem::path& output, model_generator::Options options = {}) {
  options.output = output;
  const auto made = model_generator::generate(options);
  EXPECT_TRUE(made) << made.error().message;
  return output;
}

}  // namespace precast::testing
