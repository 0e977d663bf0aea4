#include "genai/stages.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "genai/session_options.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kExportAgain = "correct the file, or export the bundle again";

// Logically: links are not followed, and nothing need exist.
bool leads_out(const stdfs::path& relative) {
  const stdfs::path normal = relative.lexically_normal();
  return normal.begin() != normal.end() && *normal.begin() == "..";
}

class StageReader {
 public:
  StageReader(fs::FileSystem& fs, const Bundle& bundle, Notes& notes) : fs_(fs), bundle_(bundle), notes_(notes) {}

  Result<Stage> read(const std::string& name, const Json& object, const SessionOptions& inherited) {
    Stage stage;
    stage.name = name;
    const std::string where = fmt::format("stage '{}'", name);
    PRECAST_TRY_ASSIGN(stage.filename, filename_of(where, object));
    stage.model = bundle_.folder / stage.filename;
    PRECAST_TRY(check_model(where, stage.model));
    stage.run_on_prompt = flag(object, "run_on_prompt", where);
    stage.run_on_token_gen = flag(object, "run_on_token_gen", where);
    const Json* options = member(object, "session_options");
    SessionOptions read = inherited;
    if (options != nullptr && options->is_object()) {
      read = read_session_options(*options, where + ": session_options", notes_);
    } else if (options != nullptr) {
      notes_.add(fmt::format("{}: 'session_options' is {}, not an object: left out", where, kind_of(*options)));
    }
    stage.providers = std::move(read.providers);
    stage.session_entries = std::move(read.entries);
    return stage;
  }

  Result<std::vector<Stage>> read_pipeline(const Json& list, const SessionOptions& inherited) {
    if (!list.is_array()) return wrong(fmt::format("'model.decoder.pipeline' is {}, not a list", kind_of(list)));
    std::vector<Stage> stages;
    for (const Json& element : list) {
      if (!element.is_object()) {
        return wrong(fmt::format("an element of 'model.decoder.pipeline' is {}, not an object", kind_of(element)));
      }
      for (const auto& [name, object] : element.items()) {
        PRECAST_TRY(check_name(name, object));
        PRECAST_TRY_ASSIGN(Stage stage, read(name, object, inherited));
        stages.push_back(std::move(stage));
      }
    }
    if (stages.empty()) return wrong("'model.decoder.pipeline' names no stage");
    return stages;
  }

 private:
  [[nodiscard]] std::unexpected<Error> wrong(const std::string& problem) const {
    return fail(ErrorCode::bad_input,
                fmt::format("{}: {}", util::quoted(bundle_.config_path), util::escape_to_line(problem)),
                bundle_.config_path, std::string(kExportAgain));
  }

  Result<void> check_name(const std::string& name, const Json& object) {
    if (name.empty() || name.find('\0') != std::string::npos) {
      return wrong(fmt::format("'{}' in 'model.decoder.pipeline' is no name for a stage", name));
    }
    if (!object.is_object()) return wrong(fmt::format("stage '{}' is {}, not an object", name, kind_of(object)));
    if (!names_.insert(name).second) return wrong(fmt::format("two stages are named '{}'", name));
    return {};
  }

  [[nodiscard]] Result<std::string> filename_of(const std::string& where, const Json& object) const {
    const Json* value = member(object, "filename");
    if (value == nullptr) return wrong(where + " has no 'filename'");
    if (!value->is_string()) return wrong(fmt::format("{}: 'filename' is {}, not a string", where, kind_of(*value)));
    const auto& filename = value->get_ref<const std::string&>();
    if (filename.empty() || filename.find('\0') != std::string::npos) {
      return wrong(fmt::format("{}: '{}' is no file name", where, filename));
    }
    if (stdfs::path(filename).is_absolute()) {
      return wrong(
          fmt::format("{}: 'filename' is absolute ('{}'); it must be relative to the bundle", where, filename));
    }
    if (leads_out(filename))
      return wrong(fmt::format("{}: 'filename' leads out of the bundle ('{}')", where, filename));
    return filename;
  }

  [[nodiscard]] Result<void> check_model(const std::string& where, const stdfs::path& model) const {
    const auto stat = fs_.stat(model);
    const std::string what =
        fmt::format("{}: {} of {}", util::quoted(bundle_.folder),
                    util::quoted(model.lexically_relative(bundle_.folder)), util::escape_to_line(where));
    if (!stat && fs::is_not_found(stat.error())) {
      return fail(ErrorCode::not_found, what + " does not exist", model, "copy the whole bundle, or export it again");
    }
    if (!stat) {
      return fail(stat.error().code, fmt::format("{} cannot be looked at: {}", what, stat.error().message), model,
                  stat.error().hint);
    }
    if (stat->kind != fs::FileKind::regular) {
      return fail(ErrorCode::bad_input, what + " is not a regular file", model, "name an ONNX model in 'filename'");
    }
    return {};
  }

  bool flag(const Json& object, const std::string& key, const std::string& where) {
    const Json* value = member(object, key);
    if (value == nullptr) return true;  // as genai has it
    if (value->is_boolean()) return value->get<bool>();
    notes_.add(fmt::format("{}: '{}' is {}, not a boolean: taken as true", where, key, kind_of(*value)));
    return true;
  }

  fs::FileSystem& fs_;
  const Bundle& bundle_;
  Notes& notes_;
  std::set<std::string> names_;
};

}  // namespace

Result<std::vector<Stage>> read_stages(fs::FileSystem& fs, const Bundle& bundle, const Json& decoder, Notes& notes) {
  StageReader reader(fs, bundle, notes);
  if (bundle.layout == Layout::flat) {
    PRECAST_TRY_ASSIGN(Stage stage, reader.read("decoder", decoder, {}));
    return std::vector<Stage>{std::move(stage)};
  }
  SessionOptions inherited;
  if (const Json* options = member(decoder, "session_options"); options != nullptr && options->is_object()) {
    inherited = read_session_options(*options, "model.decoder.session_options", notes);
  }
  if (hardware_provider(inherited.providers) != nullptr) {
    notes.add("model.decoder.session_options names an EP for the whole pipeline; genai may refuse that");
  }
  return reader.read_pipeline(*member(decoder, "pipeline"), inherited);
}

}  // namespace precast::genai
