#include "cli/publishing.hpp"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>

#include "compile/work_folder.hpp"
#include "identity/hashing_digester.hpp"
#include "identity/links.hpp"
#include "store/publish.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

std::filesystem::path absolute_or_none(const std::string& path) {
  return path.empty() ? std::filesystem::path() : identity::logical_absolute(path);
}

// Every file that the user names to precast: none of them may be replaced by what is made of them.
std::vector<std::filesystem::path> named_files(const PublishOptions& options, const compile::Request& request) {
  std::vector<std::filesystem::path> files(options.models.begin(), options.models.end());
  std::ranges::transform(files, files.begin(), identity::logical_absolute);
  for (const auto& [key, value] : request.target.provider_options) {
    std::error_code ignored;  // what is no file is no file to protect
    if (std::filesystem::is_regular_file(value, ignored)) files.push_back(identity::logical_absolute(value));
  }
  files.insert(files.end(), request.extra_files.begin(), request.extra_files.end());
  return files;
}

// Of a private generation, which no marker describes.
Result<std::vector<store::Artifact>> artifacts_in(Context& context, const std::filesystem::path& model) {
  const std::filesystem::path folder = model.parent_path();
  PRECAST_TRY_ASSIGN(const auto entries, context.file_system().list(folder));
  std::vector<store::Artifact> artifacts;
  for (const fs::DirEntry& entry : entries) {
    if (entry.name == store::kLogName) continue;
    PRECAST_TRY_ASSIGN(const auto hashed,
                       identity::hash_file(context.file_system(), folder / entry.name, &context.cancel));
    artifacts.push_back({entry.name, hashed.stat.size, hashed.sha256});
  }
  std::ranges::partition(artifacts, [&](const store::Artifact& one) { return one.path == model.filename(); });
  return artifacts;
}

// Where there is no store, publishing has one of its own for as long as it takes: nothing is known of earlier
// publications then, so nothing of them is taken away.
struct PublishingStore {
  std::unique_ptr<store::Store> own;
  store::Store* store = nullptr;
};

Result<PublishingStore> publishing_store(Context& context, const compile::Request& request,
                                         const compile::Resolution& resolution) {
  PublishingStore result;
  if (!request.no_cache) {
    const auto store = context.store();
    if (store && (*store)->writable()) result.store = *store;
    if (!store && !resolution.private_owner) return std::unexpected(store.error());
  }
  if (result.store != nullptr) return result;
  store::StoreOptions opening;
  opening.root = resolution.private_owner->work_folder() / "publishing";
  opening.allow_network = true;
  opening.cancel = &context.cancel;
  PRECAST_TRY_ASSIGN(result.own, store::Store::open(context.file_system(), opening));
  result.store = result.own.get();
  return result;
}

}  // namespace

void add_publish_options(CLI::App& command, PublishOptions& options) {
  command.add_option("-o,--output", options.output, "Also put the compiled model here, with its binaries beside it")
      ->type_name("FILE");
  command
      .add_option("--output-dir", options.output_dir,
                  "The same for every model, as <its name>_<EP>_ctx.onnx in this folder")
      ->type_name("DIR");
  command.add_flag("--overwrite", options.overwrite, "Replace an output that is something else than would be written");
}

// Where there is no store yet, its folder must not get other files in it either.
static Result<void> check_outside(const std::filesystem::path& output, const std::string& cache_dir) {
  const std::filesystem::path root = store::default_root(cache_dir);
  if (!fs::is_within(root, output)) return {};
  return fail(ErrorCode::bad_input, util::quoted(output) + " lies in a cache", output, "choose another place with -o");
}

Result<void> check_output(Context& context, const PublishOptions& options, const compile::Request& request) {
  if (options.output.empty()) return {};
  const auto store = context.store(!request.no_cache);
  if (!store) return check_outside(identity::logical_absolute(options.output), context.options.cache_dir);
  store::PublishRequest wanted;
  wanted.output = identity::logical_absolute(options.output);
  wanted.inputs = named_files(options, request);
  return store::check_output(**store, wanted);
}

Result<void> check_publish_options(const PublishOptions& options, const std::vector<std::string>& models) {
  if (options.overwrite && !options.wanted()) {
    return fail(ErrorCode::bad_input, "--overwrite has nothing to overwrite", {}, "give -o FILE or --output-dir DIR");
  }
  if (!options.output.empty() && models.size() > 1) {
    return fail(ErrorCode::bad_input, "-o names one file for " + std::to_string(models.size()) + " models", {},
                "use --output-dir DIR");
  }
  if (options.output_dir.empty()) return {};
  std::map<std::string, std::string> by_stem;
  for (const std::string& model : models) {
    const auto [other, first] = by_stem.emplace(std::filesystem::path(model).stem().native(), model);
    if (first || identity::logical_absolute(other->second) == identity::logical_absolute(model)) continue;
    return fail(ErrorCode::bad_input,
                util::quoted(other->second) + " and " + util::quoted(model) + " would have one output", model,
                "compile them one after the other, each with -o FILE");
  }
  return {};
}

Result<std::optional<std::filesystem::path>> publish_resolution(Context& context, const PublishOptions& options,
                                                                const compile::Request& request,
                                                                const compile::Resolution& resolution) {
  const std::filesystem::path model = identity::logical_absolute(request.model);
  if (resolution.outcome == compile::Outcome::precompiled) {
    return fail(ErrorCode::unsupported, util::quoted(model) + " has EPContext nodes already: nothing is published",
                model, "copy the model and its binaries, or compile the model that it was made from");
  }
  if (!resolution.compiled_model()) return std::nullopt;
  PRECAST_TRY_ASSIGN(const PublishingStore to, publishing_store(context, request, resolution));
  store::PublishRequest wanted;
  wanted.output =
      store::output_path({.file = absolute_or_none(options.output), .folder = absolute_or_none(options.output_dir)},
                         model, resolution.target.alias());
  wanted.inputs = resolution.source_files;
  for (auto& file : named_files(options, request)) wanted.inputs.push_back(std::move(file));
  wanted.overwrite = options.overwrite;
  wanted.binary_stem = options.binary_stem;
  wanted.wait.timeout = request.lock_timeout;
  wanted.wait.cancel = &context.cancel;
  store::PublishSource source{.folder = resolution.path.parent_path(),
                              .artifacts = resolution.artifacts,
                              .model = resolution.path.filename().native()};
  if (resolution.private_owner) {
    PRECAST_TRY_ASSIGN(source.artifacts, artifacts_in(context, resolution.path));
  }
  PRECAST_TRY_ASSIGN(const auto published, store::publish(*to.store, source, wanted));
  return std::optional(published.model);
}

}  // namespace precast::cli
