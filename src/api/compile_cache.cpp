#include "precast/compile_cache.hpp"

#include "api/state.hpp"
#include "compile/worker_process.hpp"
#include "identity/links.hpp"
#include "ort/executable.hpp"
#include "ort/runtime_search.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast {

namespace {

Result<std::optional<ort::DeviceClass>> device_class_of(const std::string& text) {
  if (text.empty() || util::ascii_lower(text) == "auto") return std::nullopt;
  const auto device = ort::parse_device_class(text);
  if (device) return device;
  return fail(ErrorCode::bad_input, "'" + util::escape_to_line(text) + "' is not a device class", {},
              "there are auto, cpu, gpu and npu");
}

}  // namespace

Result<compile::Request> api::to_request(const std::filesystem::path& model, const CompileOptions& options) {
  compile::Request request;
  request.model = identity::logical_absolute(model);
  request.target.ep = options.ep;
  PRECAST_TRY_ASSIGN(request.target.device, device_class_of(options.device));
  request.target.provider_options = options.provider_options;
  request.session.config_entries = options.session_options;
  request.session.optimization_level = options.optimization_level;
  request.session.free_dimensions = options.free_dimensions;
  request.embed = options.embed;
  request.validate = options.validate;
  request.in_process = options.isolation == Isolation::in_process;
  request.strict_options = options.strict_options;
  request.extra_file_options = options.option_files;
  for (const auto& file : options.extra_files) request.extra_files.push_back(identity::logical_absolute(file));
  request.worker_environment = options.worker_environment;
  request.rebuild = options.rebuild;
  request.no_cache = options.no_cache;
  request.retry_failed = options.retry_failed;
  request.compile_timeout = options.compile_timeout;
  request.lock_timeout = options.lock_timeout;
  request.retry_failed_after = options.retry_failed_after;
  return request;
}

Result<compile::Request> api::to_request(const ModelBytes& model, const CompileOptions& options) {
  PRECAST_TRY_ASSIGN(auto request, to_request(std::filesystem::path(), options));
  request.model = "(model in memory)";
  request.memory = compile::MemoryModel{
      {reinterpret_cast<const char*>(model.bytes.data()), model.bytes.size()},
      model.external_folder.empty() ? model.external_folder : identity::logical_absolute(model.external_folder)};
  return request;
}

Result<std::shared_ptr<const Ort::SessionOptions>> api::copy_of(const Ort::SessionOptions& options) {
  try {
    return std::make_shared<const Ort::SessionOptions>(options.Clone());
  } catch (const Ort::Exception& exception) {
    return std::unexpected(
        ort::to_error(exception, "ONNX Runtime does not copy the session options", ErrorCode::bad_input));
  }
}

CompiledModel::CompiledModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModel::~CompiledModel() = default;
CompiledModel::CompiledModel(CompiledModel&&) noexcept = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) noexcept = default;

const std::filesystem::path& CompiledModel::path() const {
  return state_->resolution.path;
}
bool CompiledModel::compiled() const {
  return state_->resolution.compiled_model();
}
Outcome CompiledModel::outcome() const {
  return state_->resolution.outcome;
}
const std::string& CompiledModel::reason() const {
  return state_->resolution.reason;
}
const std::optional<Error>& CompiledModel::error() const {
  return state_->resolution.error;
}
const std::string& CompiledModel::validation() const {
  return state_->resolution.validation;
}
const std::string& CompiledModel::key() const {
  return state_->resolution.key;
}
const std::string& CompiledModel::generation() const {
  return state_->resolution.generation;
}
const std::vector<Artifact>& CompiledModel::artifacts() const {
  return state_->artifacts;
}
const std::string& CompiledModel::ep() const {
  return state_->ep;
}
const std::string& CompiledModel::device() const {
  return state_->device;
}

namespace {

Result<CompiledModel> answer(compile::Resolver& resolver, const compile::Request& request) {
  PRECAST_TRY_ASSIGN(auto resolution, resolver.resolve(request));
  auto state = std::make_unique<CompiledModel::State>();
  state->ep = resolution.target.ep.found.name;
  state->device = ort::to_string(resolution.target.device.device_class);
  for (const store::Artifact& artifact : resolution.artifacts) {
    state->artifacts.push_back({artifact.path, artifact.size, artifact.sha256});
  }
  state->resolution = std::move(resolution);
  return CompiledModel(std::move(state));
}

// Where find_worker finds none (the program is not precast's): in the prefix that this library is installed in.
std::filesystem::path worker_of(const std::filesystem::path& given) {
  if (!given.empty() || compile::find_worker(fs::FileSystem::posix(), {})) return given;
  static const char anchor = 0;
  // lib/, or lib/x86_64-linux-gnu/.
  for (const auto& folder : ort::with_parents(ort::library_of(&anchor).parent_path(), 2)) {
    const std::filesystem::path worker = folder / "libexec" / "precast" / "precast-worker";
    std::error_code ignored;  // what cannot be looked at is not there
    if (std::filesystem::is_regular_file(worker, ignored)) return worker;
  }
  return given;
}

}  // namespace

Result<CompileCache> CompileCache::open(const Runtime& runtime, const CacheOptions& options) {
  auto state = std::make_shared<State>(runtime);
  store::StoreOptions opening;
  opening.root = store::default_root(options.root.empty() ? options.root : identity::logical_absolute(options.root));
  opening.allow_network = options.allow_network;
  opening.keep = options.keep;
  opening.verify = options.verify_always ? store::VerifyMode::always : store::VerifyMode::automatic;
  opening.cancel = &state->cancel;
  state->root = opening.root;
  auto store = store::Store::open(fs::FileSystem::posix(), opening);
  if (!store && options.strict) return std::unexpected(store.error());
  if (store) {
    state->store = std::move(*store);
  } else {
    state->problem = store.error().message;
  }
  state->resolver = std::make_unique<compile::Resolver>(
      compile::Services{.file_system = fs::FileSystem::posix(),
                        .catalog = [&catalog = *runtime.state()->catalog] { return Result<ort::Catalog*>(&catalog); },
                        .store = state->store.get(),
                        .store_problem = state->problem,
                        .worker = worker_of(options.worker),
                        .cancel = &state->cancel,
                        .allow_telemetry = options.allow_telemetry});
  // It may be asked for already: then it runs here, on what is whole.
  state->on_stop.emplace(options.stop, [&cancel = state->cancel] { cancel.cancel(); });
  return CompileCache(std::move(state));
}

namespace {

// `own`: the caller's session options, or null.
template <typename Model>
Result<CompiledModel> resolve_with(compile::Resolver& resolver, const Model& model, const CompileOptions& options,
                                   const Ort::SessionOptions* own) {
  PRECAST_TRY_ASSIGN(auto request, api::to_request(model, options));
  if (own != nullptr) {
    PRECAST_TRY_ASSIGN(request.session.base, api::copy_of(*own));
    request.accept_private = true;
  }
  return answer(resolver, request);
}

}  // namespace

Result<CompiledModel> CompileCache::resolve(const std::filesystem::path& model, const CompileOptions& options) const {
  return resolve_with(*state_->resolver, model, options, nullptr);
}
Result<CompiledModel> CompileCache::resolve(const std::filesystem::path& model, const CompileOptions& options,
                                            const Ort::SessionOptions& session_options) const {
  return resolve_with(*state_->resolver, model, options, &session_options);
}
Result<CompiledModel> CompileCache::resolve(const ModelBytes& model, const CompileOptions& options) const {
  return resolve_with(*state_->resolver, model, options, nullptr);
}
Result<CompiledModel> CompileCache::resolve(const ModelBytes& model, const CompileOptions& options,
                                            const Ort::SessionOptions& session_options) const {
  return resolve_with(*state_->resolver, model, options, &session_options);
}

const std::string& CompileCache::problem() const {
  return state_->problem;
}
const std::filesystem::path& CompileCache::root() const {
  return state_->root;
}
const Runtime& CompileCache::runtime() const {
  return state_->runtime;
}

}  // namespace precast
