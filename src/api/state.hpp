// What the public classes hold; for src/api only.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "compile/resolver.hpp"
#include "precast/compile_cache.hpp"

namespace precast {

struct Runtime::State {
  std::shared_ptr<ort::Runtime> runtime;
  std::unique_ptr<ort::Catalog> catalog;
};

struct CompileCache::State {
  Runtime runtime;
  std::unique_ptr<store::Store> store;  // null: `problem` says why
  std::string problem;
  std::filesystem::path root;
  util::CancelToken cancel;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  std::unique_ptr<compile::Resolver> resolver;
};

struct CompiledModel::State {
  compile::Resolution resolution;
  std::vector<Artifact> artifacts;
  std::string ep;
  std::string device;
};

namespace api {

[[nodiscard]] Result<compile::Request> to_request(const std::filesystem::path& model, const CompileOptions& options);
[[nodiscard]] Result<compile::Request> to_request(const ModelBytes& model, const CompileOptions& options);
[[nodiscard]] Result<std::shared_ptr<const Ort::SessionOptions>> copy_of(const Ort::SessionOptions& options);

}  // namespace api

}  // namespace precast
