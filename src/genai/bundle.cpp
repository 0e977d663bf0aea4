#include "genai/bundle.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "genai/config_json.hpp"
#include "genai/stages.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

// A config is some kilobytes.
constexpr std::uint64_t kMostBytes = 4U << 20U;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// What genai's tokenizer can read a vocabulary from; tokenizer_config.json alone has none.
constexpr std::array<std::string_view, 5> kVocabularies = {"tokenizer.json", "tokenizer.model", "tokenizer_module.json",
                                                           "vocab.json", "vocab.txt"};
// Models beside the decoder that other kinds of bundle have.
constexpr std::array<const char*, 5> kOtherModels = {"encoder", "embedding", "vision", "speech", "mtp"};

Error about(const stdfs::path& path, const Error& error) {
  return {error.code, fmt::format("{} cannot be read: {}", util::quoted(path), error.message), path, error.hint};
}

// Without "." and a slash at the end, so that the last component is the bundle's name; ".." stays, for what it means
// depends on links.
Result<stdfs::path> absolute_folder(const stdfs::path& path) {
  std::error_code error;
  const stdfs::path whole = stdfs::absolute(path, error);
  if (path.empty() || error) return fail(ErrorCode::not_found, "no bundle is named: the path is empty", path);
  stdfs::path clean;
  for (const stdfs::path& part : whole) {
    if (!part.empty() && part != ".") clean /= part;
  }
  return clean;
}

Result<stdfs::path> folder_of(fs::FileSystem& fs, const stdfs::path& path) {
  PRECAST_TRY_ASSIGN(stdfs::path folder, absolute_folder(path));
  const auto stat = fs.stat(folder);
  if (!stat && fs::is_not_found(stat.error())) {
    return fail(ErrorCode::not_found, fmt::format("the bundle {} does not exist", util::quoted(path)), folder,
                "check the path");
  }
  if (!stat) return std::unexpected(about(folder, stat.error()));
  if (stat->kind == fs::FileKind::directory) return folder;
  if (folder.filename() == kConfigName) return folder.parent_path();
  return fail(ErrorCode::bad_input, fmt::format("{} is not a folder", util::quoted(path)), folder,
              fmt::format("name the folder of a bundle, or the {} in it", kConfigName));
}

Result<std::string> read_text(fs::FileSystem& fs, const Bundle& bundle) {
  auto text = fs::read_small_file(fs, bundle.config_path, kMostBytes);
  if (text) return text;
  if (fs::is_not_found(text.error())) {
    return fail(ErrorCode::not_found, fmt::format("there is no {} in {}", kConfigName, util::quoted(bundle.folder)),
                bundle.config_path, "a bundle is a folder as onnxruntime-genai's model builder writes it");
  }
  return std::unexpected(about(bundle.config_path, text.error()));
}

// genai opens what it looks for: a FIFO would hang it.
Result<void> check_kinds(fs::FileSystem& fs, const stdfs::path& folder) {
  PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs, folder));
  for (const fs::TreeEntry& entry : entries) {
    if (entry.kind == fs::FileKind::regular) continue;
    const stdfs::path path = folder / entry.path;
    const auto stat = fs.stat(path);  // a link that leads to nothing is as good as no file
    if (!stat || stat->kind == fs::FileKind::regular || stat->kind == fs::FileKind::directory) continue;
    return fail(ErrorCode::bad_input, fmt::format("{} is neither a file nor a folder", util::quoted(path)), path,
                "delete it, or copy the bundle without it");
  }
  return {};
}

Result<void> check_tokenizer(fs::FileSystem& fs, const stdfs::path& folder) {
  for (const std::string_view name : kVocabularies) {
    if (const auto stat = fs.stat(folder / name); stat && stat->kind == fs::FileKind::regular) return {};
  }
  return fail(ErrorCode::not_found, fmt::format("there is no tokenizer in {}", util::quoted(folder)), folder,
              fmt::format("one of these files is needed: {}", fmt::join(kVocabularies, ", ")));
}

class ModelReader {
 public:
  ModelReader(const Json& model, Notes& notes) : model_(model), notes_(notes) {}

  void read(Bundle& bundle, const Json& decoder) {
    bundle.model_type = text(model_, "type", "model.type");
    bundle.context_length = number(model_, "context_length", "model.context_length");
    bundle.pad_token_id = number(model_, "pad_token_id", "model.pad_token_id");
    bundle.bos_token_id = number(model_, "bos_token_id", "model.bos_token_id");
    bundle.eos_token_ids = end_tokens();
    bundle.sliding_window = sliding_window(decoder);
    for (const char* name : kOtherModels) {
      if (member(model_, name) != nullptr) notes_.add(fmt::format("model.{}: only the decoder is routed", name));
    }
  }

 private:
  void skip(const std::string& where, const Json& value, std::string_view wanted) {
    notes_.add(fmt::format("'{}' is {}, not {}: left out", where, kind_of(value), wanted));
  }

  std::string text(const Json& object, const std::string& key, const std::string& where) {
    const Json* value = member(object, key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    if (value != nullptr) skip(where, *value, "a string");
    return {};
  }

  std::optional<std::int64_t> number(const Json& object, const std::string& key, const std::string& where) {
    const Json* value = member(object, key);
    if (value == nullptr) return std::nullopt;
    const auto whole = whole_number(*value);
    if (!whole) skip(where, *value, "a whole number");
    return whole;
  }

  std::vector<std::int64_t> end_tokens() {
    const Json* value = member(model_, "eos_token_id");
    if (value == nullptr) return {};
    if (!value->is_array()) {
      const auto one = number(model_, "eos_token_id", "model.eos_token_id");
      return one ? std::vector{*one} : std::vector<std::int64_t>{};
    }
    std::vector<std::int64_t> ids;
    for (const Json& element : *value) {
      if (const auto id = whole_number(element)) {
        ids.push_back(*id);
      } else {
        skip("model.eos_token_id", element, "a whole number");
      }
    }
    return ids;
  }

  std::optional<SlidingWindow> sliding_window(const Json& decoder) {
    const std::string where = "model.decoder.sliding_window";
    const Json* object = member(decoder, "sliding_window");
    if (object == nullptr || object->is_null()) return std::nullopt;
    if (!object->is_object()) {
      skip(where, *object, "an object");
      return std::nullopt;
    }
    SlidingWindow window;
    const auto size = number(*object, "window_size", where + ".window_size");
    window.window_size = size.value_or(0);  // refused below, as genai would divide by it
    window.pad_value = number(*object, "pad_value", where + ".pad_value");
    window.alignment = text(*object, "alignment", where + ".alignment");
    return window;
  }

  const Json& model_;
  Notes& notes_;
};

// genai takes them as 32-bit numbers, divides by a window's size and makes tensors of it.
Result<void> check_numbers(const Bundle& bundle) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto refuse = [&](const char* key, std::int64_t value, const std::string& wanted) {
    return fail(ErrorCode::bad_input,
                fmt::format("{}: '{}' is {}, not {}", util::quoted(bundle.config_path), key, value, wanted),
                bundle.config_path, "correct the file, or export the bundle again");
  };
  const std::int64_t context = bundle.context_length.value_or(kMost);
  if (context > kMost) return refuse("model.context_length", context, fmt::format("at most {}", kMost));
  if (!bundle.sliding_window) return {};
  const std::string& alignment = bundle.sliding_window->alignment;
  if (!alignment.empty() && alignment != "left" && alignment != "right") {
    return fail(ErrorCode::bad_input,
                fmt::format("{}: 'model.decoder.sliding_window.alignment' is '{}', neither left nor right",
                            util::quoted(bundle.config_path), util::escape_to_line(alignment)),
                bundle.config_path, "correct the file, or export the bundle again");
  }
  const std::int64_t window = bundle.sliding_window->window_size;
  if (window > 0 && (context <= 0 || window <= context)) return {};
  return refuse("model.decoder.sliding_window.window_size", window, "between 1 and the context length");
}

// genai prints a layer's number into the names of its caches with them: anything else than one %d crashes it, or gives
// all layers one name.
Result<void> check_name_templates(const Bundle& bundle, const Json& model) {
  for (const auto& part : model.items()) {
    for (const char* group : {"inputs", "outputs"}) {
      const Json* names = member(part.value(), group);
      if (names == nullptr || !names->is_object()) continue;
      for (const auto& name : names->items()) {
        if (!name.key().ends_with("_names") || !name.value().is_string()) continue;
        const auto& text = name.value().get_ref<const std::string&>();
        const bool numbered =
            name.key().starts_with("past_") || name.key().starts_with("present_") || name.key().starts_with("cross_");
        const auto signs = std::ranges::count(text, '%');
        const bool one = signs == 1 && text.find("%d") != std::string::npos;
        if (one || (signs == 0 && !numbered)) continue;
        return fail(
            ErrorCode::bad_input,
            fmt::format("{}: 'model.{}.{}.{}' is '{}', which must have %d once, for the layer's number, and no "
                        "other %",
                        util::quoted(bundle.config_path), part.key(), group, name.key(), util::escape_to_line(text)),
            bundle.config_path, "correct the file, or export the bundle again");
      }
    }
  }
  return {};
}

Result<const Json*> object_in(const Bundle& bundle, const Json& parent, const std::string& key,
                              const std::string& where) {
  const Json* object = member(parent, key);
  if (object != nullptr && object->is_object()) return object;
  const std::string problem = object == nullptr ? "is missing" : fmt::format("is {}, not an object", kind_of(*object));
  return fail(ErrorCode::bad_input, fmt::format("{}: '{}' {}", util::quoted(bundle.config_path), where, problem),
              bundle.config_path, "correct the file, or export the bundle again");
}

}  // namespace

bool is_cpu(const Provider& provider) {
  return provider.ep == "CPUExecutionProvider";
}

const Provider* hardware_provider(const std::vector<Provider>& providers) {
  const auto found = std::ranges::find_if_not(providers, is_cpu);
  return found == providers.end() ? nullptr : &*found;
}

bool uses_hardware(const Bundle& bundle) {
  return std::ranges::any_of(bundle.stages,
                             [](const Stage& stage) { return hardware_provider(stage.providers) != nullptr; });
}

Result<Bundle> read_bundle(fs::FileSystem& fs, const stdfs::path& path) {
  Bundle bundle;
  PRECAST_TRY_ASSIGN(bundle.folder, folder_of(fs, path));
  bundle.config_path = bundle.folder / kConfigName;
  PRECAST_TRY_ASSIGN(bundle.config_text, read_text(fs, bundle));
  const bool marked = bundle.config_text.starts_with(kByteOrderMark);
  if (marked) bundle.config_text.erase(0, kByteOrderMark.size());
  bundle.needs_rewriting = marked || bundle.config_text.find("\\u") != std::string::npos;
  PRECAST_TRY_ASSIGN(const Json document, parse_config(bundle.config_path, bundle.config_text));
  PRECAST_TRY_ASSIGN(const Json* model, object_in(bundle, document, "model", "model"));
  PRECAST_TRY_ASSIGN(const Json* decoder, object_in(bundle, *model, "decoder", "model.decoder"));
  bundle.layout = member(*decoder, "pipeline") != nullptr ? Layout::pipeline : Layout::flat;
  PRECAST_TRY(check_name_templates(bundle, *model));
  Notes notes;
  if (marked) notes.add("the config starts with a byte-order mark, which genai cannot read: it gets a copy without");
  ModelReader(*model, notes).read(bundle, *decoder);
  PRECAST_TRY_ASSIGN(bundle.stages, read_stages(fs, bundle, *decoder, notes));
  PRECAST_TRY(check_numbers(bundle));
  PRECAST_TRY(check_tokenizer(fs, bundle.folder));
  PRECAST_TRY(check_kinds(fs, bundle.folder));
  bundle.notes = notes.take();
  return bundle;
}

Result<std::int64_t> context_length_of(const Bundle& bundle, std::optional<std::int64_t> override_length) {
  if (override_length && *override_length <= 0) {
    return fail(ErrorCode::bad_input, fmt::format("a context length of {} is not positive", *override_length), {},
                "give the length in tokens, or leave it out to use the bundle's");
  }
  if (override_length && bundle.context_length && *override_length > *bundle.context_length) {
    return fail(ErrorCode::bad_input,
                fmt::format("a context length of {} (--context-length) is more than the {} of {}", *override_length,
                            *bundle.context_length, util::quoted(bundle.folder)),
                bundle.config_path, "give at most the bundle's, or leave it out to use that");
  }
  if (override_length) return *override_length;
  const std::string where = util::quoted(bundle.config_path) + ": 'model.context_length'";
  const std::string hint = "write the length in tokens there, or give a context length";
  if (!bundle.context_length) {
    return fail(ErrorCode::bad_input, where + " is missing or not a whole number", bundle.config_path, hint);
  }
  if (*bundle.context_length <= 0) {
    return fail(ErrorCode::bad_input, fmt::format("{} is {}, not positive", where, *bundle.context_length),
                bundle.config_path, hint);
  }
  return *bundle.context_length;
}

}  // namespace precast::genai
