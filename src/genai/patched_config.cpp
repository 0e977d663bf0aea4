#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "genai/config_json.hpp"
#include "genai/route.hpp"
#include "genai/session_options.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

constexpr const char* kDeviceFilter = "device_filtering_options";
constexpr const char* kProviderOptions = "provider_options";
constexpr const char* kSessionOptions = "session_options";

// The members of `object` become `wanted`; those that stay keep their place, and the others that `keep` accepts too.
template <typename Keep>
void set_members(Json& object, const std::map<std::string, std::string>& wanted, Keep keep) {
  std::vector<std::string> gone;
  for (const auto& [key, value] : object.items()) {
    if (!wanted.contains(key) && !keep(key, value)) gone.push_back(key);
  }
  for (const std::string& key : gone) object.erase(key);
  for (const auto& [key, value] : wanted) object[key] = value;
}

// What the list says of `name`, to keep the order of its keys.
Json written_options(const Json& list, const std::string& name) {
  for (const Json& element : list) {
    const Json* object = member(element, name);
    if (object != nullptr && object->is_object()) return *object;
  }
  return Json::object();
}

Json provider_list(const Json& before, const std::vector<Provider>& providers) {
  Json list = Json::array();
  for (const Provider& provider : providers) {
    Json options = written_options(before, provider.name);
    set_members(options, provider.options, [](const std::string&, const Json&) { return false; });
    if (!provider.device_filter.empty()) {
      options[kDeviceFilter] = Json::parse(provider.device_filter, nullptr, /*allow_exceptions=*/false);
    }
    Json element = Json::object();
    element[provider.name] = std::move(options);
    list.push_back(std::move(element));
  }
  return list;
}

// Providers as they are read back: two lists that mean the same are not written anew.
bool means_the_same(const Json& options, const StageRoute& route) {
  Notes notes;
  const SessionOptions read = read_session_options(options, "", notes);
  return notes.take().empty() && read.providers == route.providers && read.entries == route.session_entries;
}

void set_session_options(Json& options, const StageRoute& route) {
  if (means_the_same(options, route)) return;
  const auto keep = [&](const std::string& key, const Json& value) {
    Notes of_this;
    Json alone = Json::object();
    alone[key] = value;
    (void)read_session_options(alone, "", of_this);  // only whether it has a note
    return is_own_key(key) && (key == kProviderOptions || of_this.take().empty());
  };
  set_members(options, route.session_entries, keep);
  const Json* before = member(options, kProviderOptions);
  Json list = provider_list(before != nullptr && before->is_array() ? *before : Json::array(), route.providers);
  if (before != nullptr || !list.empty()) options[kProviderOptions] = std::move(list);
}

// A stage that has no session_options uses the decoder's; once it needs its own, they start as a copy of those.
void patch_stage(Json& stage, const Json* inherited, const StageRoute& route) {
  Json* own = member(stage, kSessionOptions);
  if (own != nullptr && own->is_object()) {
    set_session_options(*own, route);
    return;
  }
  if (own != nullptr) stage.erase(kSessionOptions);
  Json options = inherited != nullptr && inherited->is_object() ? *inherited : Json::object();
  const Json before = options;
  set_session_options(options, route);
  if (options != before) stage[kSessionOptions] = std::move(options);
}

Json* find_stage(const Bundle& bundle, Json& decoder, const std::string& name) {
  if (bundle.layout == Layout::flat) return name == "decoder" ? &decoder : nullptr;
  Json* pipeline = member(decoder, "pipeline");
  if (pipeline == nullptr || !pipeline->is_array()) return nullptr;
  for (Json& element : *pipeline) {
    if (Json* stage = member(element, name)) return stage;
  }
  return nullptr;
}

class Patcher {
 public:
  Patcher(const Bundle& bundle, Json& document) : bundle_(bundle), decoder_(document["model"]["decoder"]) {}

  Result<void> patch(const Route& route, std::span<const StageFile> replacements) {
    for (const StageFile& file : replacements) {
      if (std::ranges::find(route.stages, file.stage, &StageRoute::stage) == route.stages.end()) {
        return no_stage(file.stage);
      }
    }
    // Kept aside: a flat decoder is the stage itself, and a pipeline's are still to be read when they change.
    const Json* shared = member(std::as_const(decoder_), kSessionOptions);
    const Json inherited = bundle_.layout == Layout::pipeline && shared != nullptr ? *shared : Json::object();
    for (StageRoute stage : route.stages) {
      Json* object = find_stage(bundle_, decoder_, stage.stage);
      if (object == nullptr || !object->is_object()) return no_stage(stage.stage);
      for (const StageFile& file : replacements) {
        if (file.stage != stage.stage) continue;
        (*object)["filename"] = file.file;
        if (file.disable_model_compile) stage.session_entries["session.disable_model_compile"] = std::string("1");
      }
      patch_stage(*object, &inherited, stage);
    }
    if (bundle_.layout == Layout::pipeline) clean_shared(route);
    return {};
  }

 private:
  [[nodiscard]] std::unexpected<Error> no_stage(const std::string& name) const {
    return fail(ErrorCode::internal,
                fmt::format("{} has no stage '{}'", util::quoted(bundle_.config_path), util::escape_to_line(name)),
                bundle_.config_path);
  }

  // genai opens the decoder's own options too, whoever uses them: an EP that no stage is left with must not stay there,
  // and values are strings there as well.
  void clean_shared(const Route& route) {
    Json* shared = member(decoder_, kSessionOptions);
    if (shared == nullptr || !shared->is_object()) return;
    Notes notes;
    SessionOptions read = read_session_options(*shared, "", notes);
    std::set<std::string> used;
    for (const StageRoute& stage : route.stages) {
      for (const Provider& provider : stage.providers) used.insert(provider.ep);
    }
    if (!route.requested_ep.empty()) {
      std::erase_if(read.providers, [&](const Provider& provider) { return !used.contains(provider.ep); });
    }
    set_session_options(*shared, {.providers = read.providers, .session_entries = read.entries});
  }

  const Bundle& bundle_;
  Json& decoder_;
};

}  // namespace

Result<std::optional<std::string>> patched_config(const Bundle& bundle, const Route& route,
                                                  std::span<const StageFile> replacements) {
  PRECAST_TRY_ASSIGN(const Json before, parse_config(bundle.config_path, bundle.config_text));
  Json document = before;
  Json* model = member(document, "model");
  Json* decoder = model != nullptr ? member(*model, "decoder") : nullptr;
  if (decoder == nullptr || !decoder->is_object()) {
    return fail(ErrorCode::internal, util::quoted(bundle.config_path) + " has no 'model.decoder'", bundle.config_path);
  }
  PRECAST_TRY(Patcher(bundle, document).patch(route, replacements));
  if (document == before && !bundle.needs_rewriting) return std::nullopt;
  return dump_config(document);
}

}  // namespace precast::genai
