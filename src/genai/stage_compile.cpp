#include "genai/stage_compile.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

// What keeps a stage from being compiled that names an EP; empty = nothing.
std::string obstacle(const StageRoute& route) {
  const auto hardware = std::ranges::count_if(route.providers, [](const Provider& one) { return !is_cpu(one); });
  if (hardware > 1) return "it names more than one EP";
  const Provider* const provider = hardware_provider(route.providers);
  if (provider != nullptr && !provider->device_filter.empty() && !provider->device) {
    return "its device_filtering_options name more than a class of devices";
  }
  return {};
}

compile::Request request_for(const OpenedBundle& opened, const PrepareOptions& options, const Stage& stage,
                             const StageRoute& route) {
  compile::Request request = options.request;
  request.model = stage.model;
  request.target.ep = ep_reference(opened.route, route);
  request.target.device = device_for(opened.route, route);
  request.target.provider_options = route.options;
  for (const auto& [key, value] : route.session_entries) request.session.config_entries[key] = value;
  return request;
}

std::map<std::string, std::uint64_t> nodes_of(fs::FileSystem& fs, const compile::Resolution& resolution) {
  const auto facts = model::read_model(fs, resolution.path);
  if (!facts) return {};  // whoever loads it says what is wrong with it
  const std::uint64_t compiled = facts->ep_context_nodes.size();
  std::map<std::string, std::uint64_t> nodes{{resolution.target.ep.found.name, compiled}};
  if (facts->node_count > compiled) nodes["CPUExecutionProvider"] = facts->node_count - compiled;
  return nodes;
}

StageOutcome outcome_of(const compile::Resolution& resolution) {
  switch (resolution.outcome) {
    case compile::Outcome::hit:
      return StageOutcome::hit;
    case compile::Outcome::compiled:
      return StageOutcome::compiled;
    case compile::Outcome::precompiled:
      return StageOutcome::precompiled;
    case compile::Outcome::nothing_to_compile:
      return StageOutcome::original;
    case compile::Outcome::failed:
    case compile::Outcome::uncached:
      break;
  }
  return resolution.private_generation ? StageOutcome::compiled : StageOutcome::failed;
}

class Stages {
 public:
  Stages(compile::Resolver& resolver, const OpenedBundle& opened, const PrepareOptions& options,
         const StageObserver& observer)
      : resolver_(resolver), opened_(opened), options_(options), observer_(observer) {
    for (const StageRoute& route : opened.route.stages) {
      PreparedStage stage;
      stage.name = route.stage;
      stage.ep = route.ep;
      stage.reason = route.ep.empty() ? "it runs on the CPU" : obstacle(route);
      if (stage.reason.empty()) to_compile_.push_back(stages_.size());
      stages_.push_back(std::move(stage));
    }
    errors_.resize(stages_.size());
  }

  Result<std::vector<PreparedStage>> run() {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t jobs = std::min<std::size_t>(options_.jobs == 0 ? cores : options_.jobs, to_compile_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      if (!errors_[i]) continue;
      errors_[i]->message = stage_of(opened_.bundle, stages_[i].name) + ": " + errors_[i]->message;
      return std::unexpected(*errors_[i]);
    }
    return std::move(stages_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < to_compile_.size(); i = next_++) {
      const std::size_t at = to_compile_[i];
      try {
        if (auto done = compile(at); !done) errors_[at] = done.error();
      } catch (const std::exception& e) {  // a thread must not end the program
        errors_[at] = Error{ErrorCode::internal, std::string("unexpected: ") + e.what(), {}, {}};
      }
    }
  }

  Result<void> compile(std::size_t at) {
    PreparedStage& stage = stages_[at];
    const compile::Request request =
        request_for(opened_, options_, opened_.bundle.stages[at], opened_.route.stages[at]);
    compile::Observer observer;
    if (observer_) observer = [&](const compile::Progress& progress) { observer_(stage.name, &progress); };
    auto resolved = resolver_.resolve(request, observer);
    if (observer_) observer_(stage.name, nullptr);
    PRECAST_TRY_ASSIGN(auto resolution, std::move(resolved));
    stage.outcome = outcome_of(resolution);
    stage.reason = resolution.reason;
    if (resolution.compiled_model()) stage.nodes = nodes_of(resolver_.services().file_system, resolution);
    stage.resolution = std::move(resolution);
    return {};
  }

  compile::Resolver& resolver_;
  const OpenedBundle& opened_;
  const PrepareOptions& options_;
  const StageObserver& observer_;
  std::vector<PreparedStage> stages_;
  std::vector<std::size_t> to_compile_;
  std::vector<std::optional<Error>> errors_;  // one for each stage
  std::atomic<std::size_t> next_{0};
};

}  // namespace

std::string stage_of(const Bundle& bundle, const std::string& stage) {
  return "stage " + util::quoted(stage) + " of " + util::quoted(bundle.folder);
}

std::string ep_reference(const Route& route, const StageRoute& stage) {
  if (stage.ep != route.requested_ep || route.requested_source.empty()) return stage.ep;
  return stage.ep + "@" + route.requested_source;
}

std::optional<ort::DeviceClass> device_for(const Route& route, const StageRoute& stage) {
  if (route.requested_device) return route.requested_device;
  const Provider* const provider = hardware_provider(stage.providers);
  if (provider == nullptr) return std::nullopt;
  return provider->device ? provider->device : proven_device(*provider);
}

Result<std::vector<PreparedStage>> compile_stages(compile::Resolver& resolver, const OpenedBundle& opened,
                                                  const PrepareOptions& options, const StageObserver& observer) {
  return Stages(resolver, opened, options, observer).run();
}

}  // namespace precast::genai
