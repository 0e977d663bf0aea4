#include "precast/session.hpp"

#include <mutex>
#include <variant>

#include "api/state.hpp"
#include "ort/inference.hpp"
#include "session/prepared_session.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast {

struct Session::State {
  State(CompileCache given_cache, std::variant<std::filesystem::path, ModelBytes> given_model,
        CompileOptions given_options)
      : cache(std::move(given_cache)), model(std::move(given_model)), options(std::move(given_options)) {}

  [[nodiscard]] Result<compile::Request> request() const {
    PRECAST_TRY_ASSIGN(auto request,
                       std::visit([&](const auto& source) { return api::to_request(source, options); }, model));
    request.session.base = own_options;
    return request;
  }
  [[nodiscard]] std::filesystem::path name() const {
    const auto* path = std::get_if<std::filesystem::path>(&model);
    return path != nullptr ? *path : std::filesystem::path("(model in memory)");
  }

  // The caller's own; what cannot be copied is found out at open().
  void take(const Ort::SessionOptions& given) {
    auto copied = api::copy_of(given);
    if (copied) {
      own_options = std::move(*copied);
    } else {
      refused = copied.error();
    }
  }
  Result<void> open();
  Result<void> take_infos();
  // The session's own options again after a perf window; nothing where its body reset the session.
  [[nodiscard]] Result<void> restore(ort::Catalog& catalog, const ort::SessionSettings& settings) {
    return prepared ? prepared->reopen(catalog, settings) : Result<void>();
  }
  void record(double ms);

  CompileCache cache;
  std::variant<std::filesystem::path, ModelBytes> model;
  CompileOptions options;
  std::shared_ptr<const Ort::SessionOptions> own_options;  // the caller's, or null
  std::optional<Error> refused;                            // why it could not be opened; until reset()
  std::optional<session::PreparedSession> prepared;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  // The perf window that is open.
  std::mutex window_mutex;  // run() may come from several threads
  bool in_window = false;
  std::uint32_t warmups_left = 0;
  PerfStatistics statistics;
};

namespace {

Error to_error(const Ort::Exception& exception, const std::string& doing) {
  return ort::to_error(exception, doing, ErrorCode::internal);
}

}  // namespace

Result<void> Session::State::open() {
  PRECAST_TRY_ASSIGN(auto request, this->request());
  request.accept_private = true;
  compile::Resolver& resolver = *cache.state()->resolver;
  PRECAST_TRY_ASSIGN(auto resolution, resolver.resolve(request));
  PRECAST_TRY_ASSIGN(auto opened,
                     session::PreparedSession::open(resolver, request, std::move(resolution), {}, options.count_nodes));
  prepared.emplace(std::move(opened));
  return take_infos();
}

Result<void> Session::State::take_infos() {
  try {
    inputs = ort::inputs_of(prepared->native());
    outputs = ort::outputs_of(prepared->native());
    return {};
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, "cannot read the model's inputs and outputs"));
  }
}

void Session::State::record(double ms) {
  const std::lock_guard guard(window_mutex);
  if (!in_window) return;
  if (warmups_left > 0) {
    --warmups_left;
  } else {
    statistics.run_ms.push_back(ms);
  }
}

Session::Session(CompileCache cache, std::filesystem::path model, CompileOptions options)
    : state_(std::make_unique<State>(std::move(cache), std::move(model), std::move(options))) {}
Session::Session(CompileCache cache, std::filesystem::path model, CompileOptions options,
                 const Ort::SessionOptions& session_options)
    : Session(std::move(cache), std::move(model), std::move(options)) {
  state_->take(session_options);
}
Session::Session(CompileCache cache, ModelBytes model, CompileOptions options,
                 const Ort::SessionOptions& session_options)
    : Session(std::move(cache), std::move(model), std::move(options)) {
  state_->take(session_options);
}
Session::Session(CompileCache cache, ModelBytes model, CompileOptions options)
    : state_(std::make_unique<State>(std::move(cache), std::move(model), std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<void> Session::open() {
  if (state_->refused) return std::unexpected(*state_->refused);
  if (is_open()) return {};
  auto opened = state_->open();
  if (!opened) {
    state_->prepared.reset();
    state_->refused = opened.error();
  }
  return opened;
}

bool Session::is_open() const {
  return state_->prepared && state_->prepared->is_open();
}

void Session::reset() {
  state_->prepared.reset();
  state_->refused.reset();
  state_->inputs.clear();
  state_->outputs.clear();
}

const std::vector<TensorInfo>& Session::inputs() const {
  return state_->inputs;
}

const std::vector<TensorInfo>& Session::outputs() const {
  return state_->outputs;
}

Result<Tensors> Session::run(const Tensors& inputs) {
  PRECAST_TRY(open());
  PRECAST_TRY_ASSIGN(auto done, ort::infer(state_->prepared->native(), state_->inputs, state_->outputs, inputs,
                                           "the inference on " + util::quoted(state_->name()) + " failed"));
  state_->record(done.ms);
  return std::move(done.outputs);
}

std::filesystem::path Session::running_path() const {
  return is_open() ? state_->prepared->resolution().path : std::filesystem::path();
}
std::optional<Outcome> Session::outcome() const {
  if (!is_open()) return std::nullopt;
  return state_->prepared->resolution().outcome;
}
std::string Session::reason() const {
  return is_open() ? state_->prepared->resolution().reason : std::string();
}
std::string Session::ep() const {
  return is_open() ? state_->prepared->resolution().target.ep.found.name : std::string();
}
std::string Session::device() const {
  if (!is_open()) return {};
  return std::string(ort::to_string(state_->prepared->resolution().target.device.device_class));
}

std::map<std::string, std::uint64_t> Session::provider_nodes() const {
  if (!is_open()) return {};
  return state_->prepared->provider_nodes();
}

Result<PerfStatistics> Session::perf_window(const PerfOptions& options,
                                            const std::function<Result<void>(Session&)>& body) {
  PRECAST_TRY(open());
  State& state = *state_;
  if (state.in_window) return fail(ErrorCode::bad_input, "a perf window is open already", state.name(), "end it first");
  PRECAST_TRY_ASSIGN(const auto request, state.request());
  ort::SessionSettings settings = request.session;
  for (const auto& [key, value] : options.session_options) settings.config_entries[key] = value;
  ort::Catalog& catalog = *state.cache.runtime().state()->catalog;

  Result<void> done = state.prepared->reopen(catalog, settings);
  if (done) {
    state.statistics = {};
    state.warmups_left = options.warmup;
    state.in_window = true;
    try {
      done = body(*this);
    } catch (...) {
      state.in_window = false;
      if (const auto restored = state.restore(catalog, request.session); !restored) state.refused = restored.error();
      throw;
    }
    state.in_window = false;
  }
  if (const auto restored = state.restore(catalog, request.session); !restored) {
    state.refused = restored.error();
    if (done) done = restored;
  }
  if (!done) return std::unexpected(done.error());
  return std::move(state.statistics);
}

}  // namespace precast
