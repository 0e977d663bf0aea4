#include "cli/bundle_compile.hpp"

#include <nlohmann/json.hpp>

#include "cli/bundle_options.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "genai/publish_bundle.hpp"
#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kStageTimeout{300};

Result<void> check_options(const BundleCompile& command) {
  const auto refuse = [&](const char* what, const char* hint) {
    return fail(ErrorCode::bad_input, what, command.paths.front(), hint);
  };
  if (command.paths.size() > 1) return refuse("a bundle is compiled alone", "give one folder");
  if (!command.compile.ep_options.empty() || !command.compile.ep_option_files.empty()) {
    return refuse("--ep-options is for models: a bundle's stages have their own in genai_config.json",
                  "put them into the stage's provider_options");
  }
  if (!command.compile.session_options.empty()) {
    return refuse("--session-options is for models: a bundle's stages have their own in genai_config.json",
                  "put them into the stage's session_options");
  }
  if (!command.compile.free_dimensions.empty()) {
    return refuse("--free-dimension is for models", "make the bundle with fixed shapes");
  }
  if (command.share_weights) return refuse("--share-weights is for models", "leave it out");
  if (!command.publish.output_dir.empty()) return refuse("--output-dir is for models", "give the folder with -o DIR");
  if (command.publish.overwrite && command.publish.output.empty()) {
    return refuse("--overwrite has nothing to overwrite", "give -o DIR");
  }
  if (command.compile.no_cache && command.publish.output.empty()) {
    return refuse("compile --no-cache would keep nothing",
                  "leave --no-cache out, or say with -o where the compiled bundle goes");
  }
  return {};
}

Result<genai::PrepareOptions> prepare_options(Context& context, const BundleCompile& command) {
  genai::PrepareOptions options;
  options.compile = true;
  options.ep = command.compile.ep;
  options.device = command.compile.device;
  options.jobs = command.jobs;
  options.require_effect = context.options.strict;
  PRECAST_TRY_ASSIGN(options.request, make_request(command.compile, context.options));
  if (!command.timeout_given) options.request.compile_timeout = kStageTimeout;
  options.request.accept_private = !command.publish.output.empty();
  return options;
}

genai::PublishBundle publish_request(Context& context, const BundleCompile& command, const genai::Bundle& bundle) {
  genai::PublishBundle request;
  request.output = identity::logical_absolute(command.publish.output).lexically_normal();
  if (!request.output.has_filename()) request.output = request.output.parent_path();
  request.original = bundle.folder;
  request.store = store::default_root(context.options.cache_dir);
  request.overwrite = command.publish.overwrite;
  request.cancel = &context.cancel;
  request.on_wait = [&context](const std::filesystem::path& folder) {
    context.output.note("waiting for whoever else publishes in " + util::quoted(folder));
  };
  return request;
}

struct Done {
  genai::PreparedBundle prepared;
  std::optional<genai::PublishedBundle> published;
};

Result<Done> run(Context& context, const BundleCompile& command) {
  PRECAST_TRY(check_options(command));
  PRECAST_TRY_ASSIGN(const auto options, prepare_options(context, command));
  fs::FileSystem& fs = context.file_system();
  PRECAST_TRY_ASSIGN(auto opened, genai::open_bundle(fs, command.paths.front(), options));
  const bool publishes = !command.publish.output.empty();
  auto publishing = publish_request(context, command, opened.bundle);
  publishing.lock_timeout = options.request.lock_timeout;
  if (publishes) PRECAST_TRY(genai::check_bundle_output(fs, publishing));
  if (!command.compile.no_cache) PRECAST_TRY(genai::check_store_place(publishing.store, opened.bundle.folder));
  PRECAST_TRY_ASSIGN(compile::Resolver* const resolver, context.resolver(!command.compile.no_cache));
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, context.catalog());
  PRECAST_TRY(genai::find_eps(fs, *catalog, opened));
  Done done;
  {
    StageProgress progress(context.output, command.paths.front());
    PRECAST_TRY_ASSIGN(done.prepared, genai::prepare_bundle(*resolver, opened, options, progress.observer()));
  }
  if (publishes && done.prepared.any_compiled()) {
    PRECAST_TRY_ASSIGN(done.published, genai::publish_bundle(fs, done.prepared, publishing));
  } else if (publishes && std::ranges::any_of(done.prepared.stages, [](const genai::PreparedStage& stage) {
               return stage.outcome == genai::StageOutcome::precompiled;
             })) {
    return fail(ErrorCode::bad_input, "the stages of " + util::quoted(command.paths.front()) + " are compiled already",
                command.paths.front(), "copy the folder instead: it can be moved anywhere");
  } else if (publishes) {
    const char* const hint = opened.bundle.layout == genai::Layout::flat
                                 ? "; --ep NAME runs its decoder on an EP"
                                 : "; a pipeline's stages name their EPs in provider_options in genai_config.json";
    context.output.warn("nothing is published for " + util::quoted(command.paths.front()) + ": no stage is compiled" +
                        (genai::uses_hardware(opened.bundle) ? "" : hint));
  }
  return done;
}

// The first stage's that is not well; where none names an EP there was nothing to compile.
int code_of(const genai::PreparedBundle& prepared, bool strict) {
  bool any = false;
  for (const genai::PreparedStage& stage : prepared.stages) {
    if (!stage.resolution) continue;
    const bool good = stage.outcome != genai::StageOutcome::failed && stage.outcome != genai::StageOutcome::original;
    if (!good) return exit_code_of(*stage.resolution, strict);
    any = true;
  }
  return any ? kDone : kNothingToCompile;
}

json json_of(const genai::PreparedStage& stage) {
  json result = stage.resolution ? to_json(*stage.resolution, {})
                                 : json{{"outcome", "nothing_to_compile"}, {"reason", stage.reason}};
  result["stage"] = util::escape_invalid_utf8(stage.name);
  const bool failed = stage.outcome == genai::StageOutcome::failed;
  if (failed && stage.resolution->error) result["error"] = to_json(*stage.resolution->error);
  return result;
}

bool has_published(const Done& done) {
  return done.published && done.published->publication != genai::Publication::kept;
}

// A private view ends with this process.
json bundle_path(const Done& done) {
  if (has_published(done)) return path_text(done.published->folder);
  if (done.prepared.view) return nullptr;
  return path_text(done.prepared.folder);
}

void say_published(Context& context, const genai::PublishedBundle& published) {
  const std::string folder = util::quoted(published.folder);
  switch (published.publication) {
    case genai::Publication::written:
      return context.output.note("published: " + folder);
    case genai::Publication::same:
      return context.output.note("published before: " + folder);
    case genai::Publication::kept:
      return context.output.warn(folder + " stays as it was: not every stage was compiled this time");
  }
}

}  // namespace

int compile_bundle(Context& context, const BundleCompile& command) {
  const auto done = run(context, command);
  if (!done) return report_error(context, "compile", done.error());
  say_stages(context, done->prepared);
  for (const std::string& warning : done->prepared.warnings) context.output.warn(warning);
  if (done->published) {
    say_published(context, *done->published);
  } else if (done->prepared.derived) {
    context.output.note("bundle: " + util::quoted(done->prepared.folder));
  }
  if (context.output.json) {
    json document = cli::document("compile");
    document["results"] = json::array();
    for (const genai::PreparedStage& stage : done->prepared.stages) document["results"].push_back(json_of(stage));
    document["bundle_path"] = bundle_path(*done);
    document["published"] = has_published(*done) ? json(path_text(done->published->folder)) : json(nullptr);
    add_route_json(document, done->prepared);
    document["running_path"] = document["bundle_path"];  // a private view ends here
    context.output.machine_json(document);
  }
  return code_of(done->prepared, context.options.strict);
}

}  // namespace precast::cli
