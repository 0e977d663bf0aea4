#include "compile/sharing.hpp"

#include <algorithm>

#include "compile/compile_job.hpp"
#include "compile/miss.hpp"
#include "compile/staging.hpp"
#include "identity/hashing_digester.hpp"
#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

using Evidence = std::vector<identity::ModelEvidence>;

Result<void> check_request(const Request& request, const std::vector<std::filesystem::path>& models) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto same = std::ranges::find(models.begin(), models.begin() + static_cast<std::ptrdiff_t>(i), models[i]);
    if (same == models.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    return fail(ErrorCode::bad_input, util::quoted(models[i]) + " is named twice", models[i], "name each model once");
  }
  if (models.size() < 2) {
    return fail(ErrorCode::bad_input, "sharing takes at least two models", {},
                "name all that share, the last one last");
  }
  if (request.embed) {
    return fail(ErrorCode::bad_input, "what models share cannot be embedded into each of them", {},
                "leave out --embed");
  }
  if (!request.validate) return {};
  return fail(ErrorCode::bad_input, "models that share are not validated", {},
              "leave out --validate, and check them with `precast run --check` where they run");
}

Result<Evidence> take_evidence(fs::FileSystem& fs, identity::Digester& digester,
                               const std::vector<std::filesystem::path>& models) {
  Evidence evidence;
  for (const std::filesystem::path& model : models) {
    PRECAST_TRY_ASSIGN(auto one, identity::take_model_evidence(fs, digester, identity::logical_absolute(model)));
    if (!one.facts.ep_context_nodes.empty()) {
      return fail(ErrorCode::bad_input, util::quoted(model) + " has EPContext nodes already", model,
                  "name the model that it was compiled from");
    }
    evidence.push_back(std::move(one));
  }
  return evidence;
}

// model.onnx, model_1.onnx, ...: an EP names its binaries after the models.
std::vector<SharingModel> name_outputs(const std::vector<std::filesystem::path>& models,
                                       const std::filesystem::path& folder) {
  const std::filesystem::path first(store::kModelName);
  std::vector<SharingModel> named;
  named.reserve(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string number = i == 0 ? "" : "_" + std::to_string(i);
    named.push_back({models[i], folder / (first.stem().native() + number + first.extension().native())});
  }
  return named;
}

Result<std::vector<std::filesystem::path>> models_for_worker(fs::FileSystem& fs, const Evidence& evidence,
                                                             const WorkFolder& folder) {
  std::vector<std::filesystem::path> models;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    std::filesystem::path model = evidence[i].model;
    if (evidence[i].through_links) {
      const std::filesystem::path staged = folder.source_folder() / std::to_string(i);
      PRECAST_TRY(fs::make_directories(fs, staged.parent_path(), 0700, fs::Durability::none));
      PRECAST_TRY_ASSIGN(model, stage_source(fs, evidence[i].model, std::nullopt, evidence[i].facts, staged));
    }
    models.push_back(std::move(model));
  }
  return models;
}

Resolution resolution_of(const Request& request, const identity::ModelEvidence& model, const ort::Target& target) {
  Resolution resolution;
  resolution.compile_level = ort::optimization_level_name(compile_level(request));
  resolution.path = model.model;
  resolution.target = target;
  for (const identity::FileEvidence& file : model.files) resolution.source_files.push_back(file.path);
  return resolution;
}

std::vector<Resolution> sources(const Request& request, const Evidence& evidence, const ort::Target& target,
                                Outcome outcome, const Error& error, const std::string& log_tail) {
  std::vector<Resolution> answers;
  for (const identity::ModelEvidence& model : evidence) {
    Resolution answer = answer_with_source(resolution_of(request, model, target), outcome, model.model, error);
    if (answer.error) answer.error->path.clear();  // whichever of them it was, the message says
    answer.log_tail = log_tail;
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace

Result<std::vector<Resolution>> compile_sharing(Resolver& resolver, const Request& request,
                                                const std::vector<std::filesystem::path>& models,
                                                const Observer& observer) {
  const Services& services = resolver.services();
  fs::FileSystem& fs = services.file_system;
  PRECAST_TRY(check_request(request, models));
  if (observer) observer({});
  identity::HashingDigester digester(fs, services.cancel);
  PRECAST_TRY_ASSIGN(const Evidence evidence, take_evidence(fs, digester, models));
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, services.catalog());
  PRECAST_TRY_ASSIGN(const ort::Target target, catalog->choose(fs, request.target, request.extra_file_options));
  if (!target.makes_ep_context()) {
    const Error error{ErrorCode::unsupported,
                      target.ep.found.name + " does not make compiled (EPContext) models: there is nothing to share",
                      {},
                      "precast eps shows which EPs do"};
    return sources(request, evidence, target, Outcome::nothing_to_compile, error, {});
  }
  Request first = request;
  first.model = evidence.front().model;
  const identity::Settings settings = make_settings(first, *catalog, target);
  PRECAST_TRY_ASSIGN(auto made, WorkFolder::temporary(fs));
  const auto folder = std::make_shared<WorkFolder>(std::move(made));
  PRECAST_TRY_ASSIGN(const auto inputs, models_for_worker(fs, evidence, *folder));
  const std::vector<SharingModel> named = name_outputs(inputs, folder->output_folder());
  const Job job{services, first, settings, inputs.front(), *folder, [&](Stage stage) {
                  if (observer) observer({stage, std::nullopt, std::nullopt});
                }};
  Timings timings;
  const JobResult result = run_sharing_job(job, named, timings);
  if (result.end == JobEnd::cancelled) return std::unexpected(result.error);
  if (result.end != JobEnd::good) {
    const bool nothing = result.end == JobEnd::nothing_to_compile;
    return sources(request, evidence, target, nothing ? Outcome::nothing_to_compile : Outcome::failed, result.error,
                   result.log_tail);
  }
  PRECAST_TRY_ASSIGN(const Evidence after, take_evidence(fs, digester, models));
  if (after != evidence) {
    const Error changed{
        ErrorCode::busy, "a model changed while it was compiled", {}, "try again when nothing writes to it"};
    return sources(request, evidence, target, Outcome::uncached, changed, {});
  }
  std::vector<Resolution> answers;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    Resolution answer = resolution_of(request, evidence[i], target);
    answer.reason = "models that share are compiled together and not stored";
    answer.path = named[i].output;
    answer.timings = timings;
    answer.private_generation = true;
    answer.private_owner = folder;
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace precast::compile
