#include "identity/option_fields.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "identity/groups.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

using nlohmann::json;

constexpr std::string_view kRedirected = "redirected";
constexpr std::uint64_t kMaxLoadConfig = std::uint64_t{16} << 20U;

// Entries of session options that cannot change what a compile writes. Everything unknown stays in the identity.
constexpr std::array<std::string_view, 18> kRunTimeConfig = {
    "session.intra_op.allow_spinning",
    "session.inter_op.allow_spinning",
    "session.intra_op_thread_affinities",
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.use_env_allocators",
    "session.use_device_allocator_for_initializers",
    "session.log*",
    "session.collect_node_memory_stats_to_file",
    "session.disable_cpu_ep_fallback",  // refuses a session; what it does not refuse is the same
    "session.fail_on_suboptimal_compiled_model",
    "session.disable_model_compile",
    "ep.dynamic.*",
    // precast sets these for each compile and each opening; a path has no place in an identity, and "embed" is a field
    "ep.context_enable",
    "ep.context_file_path",
    "ep.context_embed_mode",
    "session.record_ep_graph_assignment_info",
    "session.compile_only",
};

constexpr std::array<std::string_view, 2> kOutsideConfig = {"*external_initializers*", "*weightless*"};
constexpr std::array<std::string_view, 3> kOutsideOptions = {"*weightless*", "*weight_stripped*",
                                                             "*external_initializers*"};
constexpr std::array<std::string_view, 4> kCustomOps = {"op_packages", "*custom_op*", "*extra_plugin_lib_paths",
                                                        "*op_library*"};

template <typename Globs>
bool matches(const Globs& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(), [&](std::string_view glob) { return util::glob_match(glob, text); });
}

template <typename Names>
bool listed(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_off(std::string_view value) {
  const std::string lower = util::ascii_lower(util::trim(value));
  return lower.empty() || lower == "0" || lower == "false" || lower == "no" || lower == "off";
}

bool is_load_config(const Settings& settings, std::string_view key) {
  const ort::EpSpec* const spec = settings.target.ep.found.spec;
  return key == "load_config" && spec != nullptr && spec->name == "OpenVINOExecutionProvider";
}

bool is_file_option(const Settings& settings, std::string_view key) {
  const ort::EpSpec* const spec = settings.target.ep.found.spec;
  return listed(settings.extra_file_options, key) || (spec != nullptr && listed(spec->file_options, key));
}

// Inline JSON, or the content of the file that the value names.
Result<std::string> load_config_text(fs::FileSystem& fs, const std::string& value) {
  if (util::trim(value).starts_with('{')) return value;
  auto text = fs::read_small_file(fs, value, kMaxLoadConfig);
  if (text) return text;
  Error error = std::move(text).error();
  error.code = ErrorCode::bad_input;
  error.message = "provider option 'load_config' cannot be used: " + error.message;
  return std::unexpected(std::move(error));
}

void redirect_caches(json& value) {
  if (!value.is_structured()) return;
  if (value.is_object() && value.contains("CACHE_DIR")) value["CACHE_DIR"] = kRedirected;
  for (json& inner : value) redirect_caches(inner);
}

// By meaning where the text is JSON: spaces and the order of keys do not make another identity.
std::string load_config_digest(const std::string& text) {
  json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded()) return util::sha256_hex(text);  // OpenVINO will say what it thinks of it
  redirect_caches(config);
  return util::sha256_hex(config.dump());
}

// The property that keeps weights out of the result, or "".
std::string weightless_property(const json& value) {
  if (!value.is_structured()) return {};
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      const std::string text = inner.is_string() ? inner.get<std::string>() : inner.dump();
      if (key == "ENABLE_WEIGHTLESS" && !is_off(text)) return key;
      if (key == "CACHE_MODE" && text == "OPTIMIZE_SIZE") return key;
      if (key == "WEIGHTS_PATH" && !text.empty()) return key;
    }
  }
  for (const json& inner : value) {
    if (std::string found = weightless_property(inner); !found.empty()) return found;
  }
  return {};
}

std::unexpected<Error> not_self_contained(std::string_view kind, const std::string& key, std::string_view why) {
  return fail(ErrorCode::bad_input,
              std::string(kind) + " '" + key + "': " + std::string(why) + ", so the result would not be complete", {},
              "Leave it out; precast stores only results that need nothing but themselves.");
}

Result<void> check_option(fs::FileSystem& fs, const Settings& settings, const std::string& key,
                          const std::string& value) {
  if (matches(kOutsideOptions, key) && !is_off(value)) {
    return not_self_contained("provider option", key, "it leaves weights in the source model");
  }
  const auto brought = [&](const std::filesystem::path& file) {
    return value.find(file.filename().string()) != std::string::npos;
  };
  const auto& extra = settings.extra_files;
  if (matches(kCustomOps, key) && !value.empty() && std::none_of(extra.begin(), extra.end(), brought)) {
    return fail(ErrorCode::bad_input,
                "provider option '" + key + "': it names a custom-op library whose content is not in the identity", {},
                "Name the library with --ep-extra-file as well.");
  }
  if (!is_load_config(settings, key) || value.empty()) return {};
  PRECAST_TRY_ASSIGN(const std::string text, load_config_text(fs, value));
  const json config = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string property = config.is_discarded() ? std::string{} : weightless_property(config);
  if (property.empty()) return {};
  return not_self_contained("provider option", key, property + " leaves weights in the source model");
}

struct FileOptions {
  std::vector<std::string> keys;
  std::vector<std::filesystem::path> paths;
};

Result<void> digest_files(Digester& digester, const Settings& settings, const FileOptions& files,
                          OptionFields& fields) {
  if (files.paths.empty()) return {};
  auto evidence = digester.digest(files.paths, library_group(settings));
  if (!evidence) {
    Error error = std::move(evidence).error();
    const auto at = std::find(files.paths.begin(), files.paths.end(), error.path);
    const std::size_t index = at == files.paths.end() ? 0 : static_cast<std::size_t>(at - files.paths.begin());
    error.code = ErrorCode::bad_input;
    error.message = "provider option '" + files.keys[index] + "' cannot be used: " + error.message;
    return std::unexpected(std::move(error));
  }
  for (std::size_t i = 0; i < files.keys.size() && i < evidence->size(); ++i) {
    fields.option_files[files.keys[i]] = (*evidence)[i].sha256;
  }
  return {};
}

}  // namespace

Result<OptionFields> option_fields(fs::FileSystem& fs, Digester& digester, const Settings& settings) {
  const ort::EpSpec* const spec = settings.target.ep.found.spec;
  OptionFields fields;
  FileOptions files;
  for (const auto& [key, value] : compile_provider_options(settings)) {
    std::string& field = fields.provider_options[key];
    if (value.empty()) continue;
    if (is_load_config(settings, key)) {
      PRECAST_TRY_ASSIGN(const std::string text, load_config_text(fs, value));
      fields.option_files[key] = load_config_digest(text);
    } else if (is_file_option(settings, key)) {
      files.keys.push_back(key);
      files.paths.emplace_back(value);
    } else if (spec != nullptr && ort::matches_any(spec->cache_options, key)) {
      field = kRedirected;
    } else if (spec != nullptr && listed(spec->library_options, key)) {
      field = std::filesystem::path(value).filename().string();
    } else {
      field = value;
    }
  }
  PRECAST_TRY(digest_files(digester, settings, files, fields));
  return fields;
}

std::map<std::string, std::string> compile_session_config(const Settings& settings) {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : settings.session_config) {
    if (!matches(kRunTimeConfig, key)) result.emplace(key, value);
  }
  return result;
}

std::map<std::string, std::string> compile_provider_options(const Settings& settings) {
  std::map<std::string, std::string> result = settings.target.provider_options;
  const ort::EpSpec* const spec = settings.target.ep.found.spec;
  if (spec == nullptr || settings.strict_options) return result;
  std::erase_if(result, [&](const auto& option) { return ort::matches_any(spec->run_time_options, option.first); });
  return result;
}

Result<void> check_self_contained(fs::FileSystem& fs, const Settings& settings) {
  for (const auto& [key, value] : settings.session_config) {
    if (matches(kOutsideConfig, key) && !is_off(value)) {
      return not_self_contained("session option", key, "it leaves initialisers in other files");
    }
    if (matches(kCustomOps, key) && !is_off(value)) {
      return not_self_contained("session option", key, "it brings in a library that no identity covers");
    }
  }
  for (const auto& [key, value] : settings.target.provider_options) {
    PRECAST_TRY(check_option(fs, settings, key, value));
  }
  return {};
}

}  // namespace precast::identity
