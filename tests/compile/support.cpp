#include "compile/support.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "support/models.hpp"

namespace precast::compile::testing {

ort::Catalog& catalog() {
  static ort::Catalog* const instance = [] {
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    ort::RuntimeOptions options;
    options.library = std::filesystem::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1";
    auto runtime = ort::Runtime::load(options);
    if (!runtime) throw std::runtime_error(runtime.error().message);
    return new ort::Catalog(*runtime, {{"fake_ep", "explicit", precast::testing::fake_ep_library(), nullptr},
                                       {"CPUExecutionProvider", "built_in", {}, ort::find_ep("cpu")}});
  }();
  return *instance;
}

ResolverTest::ResolverTest() {
  ::setenv("FAKE_EP_TRACE", trace().c_str(), 1);
  ::setenv("PRECAST_WORKER", (std::filesystem::path(PRECAST_BINARY_DIR) / "bin" / "precast-worker").c_str(), 1);
  ::unsetenv("FAKE_EP_FAULT");
  reopen();
}

ResolverTest::~ResolverTest() {
  for (const char* name : {"FAKE_EP_FAULT", "FAKE_EP_COUNTER", "FAKE_EP_TRACE"}) ::unsetenv(name);
}

void ResolverTest::open_store(const std::filesystem::path& root) {
  resolver_.reset();
  store::StoreOptions options;
  options.root = root;
  auto store = store::Store::open(files_, options);
  ASSERT_TRUE(store) << store.error().message;
  store_ = std::move(*store);
  resolver_ = std::make_unique<Resolver>(Services{.file_system = files_,
                                                  .catalog = [] { return Result<ort::Catalog*>(&catalog()); },
                                                  .store = store_.get(),
                                                  .store_problem = {},
                                                  .worker = {},
                                                  .cancel = nullptr,
                                                  .allow_telemetry = false});
}

std::filesystem::path ResolverTest::model(const std::string& name, bool external) {
  const auto path = precast::testing::make_model(folder_ / name, {.output = {}, .external = external});
  let_times_pass();
  return path;
}

Request ResolverTest::request(const std::filesystem::path& model) {
  Request request;
  request.model = model;
  request.target.ep = "fake_ep";
  request.compile_timeout = std::chrono::seconds(60);
  return request;
}

Resolution ResolverTest::resolve(const Request& what) {
  auto resolution = resolver_->resolve(what);
  EXPECT_TRUE(resolution) << resolution.error().message;
  return resolution ? std::move(*resolution) : Resolution{};
}

void ResolverTest::let_times_pass() {
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
}

}  // namespace precast::compile::testing
