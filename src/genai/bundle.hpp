// A genai bundle: a folder with genai_config.json, read into plain data. Flat: model.decoder is one model. Pipeline:
// model.decoder.pipeline is a list of stages. No ORT, no genai: only files and text.
//
// Reading is tolerant where genai could go on: what has the wrong type is left out and named in `notes`. It is strict
// where nobody could: a file that is not there, text that is not JSON, a stage without a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/file_system.hpp"
#include "ort/ep_table.hpp"
#include "precast/error.hpp"

namespace precast::genai {

inline constexpr std::string_view kConfigName = "genai_config.json";

// One element of a provider_options list.
struct Provider {
  std::string name;  // as written: "qnn", "QNNExecutionProvider", ...
  std::string ep;    // canonical; as written for an EP that the table does not know
  // All strings, as genai takes them. A JSON boolean became "1" or "0", a whole number its digits (2.0 is "2").
  std::map<std::string, std::string> options;
  std::string device_filter;               // device_filtering_options as JSON text, or empty
  std::optional<ort::DeviceClass> device;  // its hardware_device_type
  friend bool operator==(const Provider&, const Provider&) = default;
};
[[nodiscard]] bool is_cpu(const Provider& provider);

struct Stage {
  std::string name;             // flat: "decoder"
  std::string filename;         // as written, relative to the bundle
  std::filesystem::path model;  // absolute; a regular file when it was read
  bool run_on_prompt = true;
  bool run_on_token_gen = true;
  // Those that take effect, in order of priority. genai lets a stage without session_options use the decoder's.
  std::vector<Provider> providers;
  // What genai hands to ORT as config entries ("session.disable_cpu_ep_fallback", ...).
  std::map<std::string, std::string> session_entries;
};
// The first provider that is not the CPU's; null = the stage runs on the CPU.
[[nodiscard]] const Provider* hardware_provider(const std::vector<Provider>& providers);

enum class Layout : std::uint8_t { flat, pipeline };

struct SlidingWindow {
  std::int64_t window_size = 0;
  std::optional<std::int64_t> pad_value;
  std::string alignment;  // "left", "right", or empty
};

struct Bundle {
  std::filesystem::path folder;       // absolute
  std::filesystem::path config_path;  // folder / genai_config.json
  std::string config_text;            // the bytes of the file, without a byte-order mark
  // genai reads neither a byte-order mark nor \u escapes; patched_config then always gives a text without them.
  bool needs_rewriting = false;
  Layout layout = Layout::flat;
  std::string model_type;  // "llama", "decoder-pipeline", ...; empty if the config does not say
  std::optional<std::int64_t> context_length;
  std::vector<std::int64_t> eos_token_ids;
  std::optional<std::int64_t> pad_token_id;
  std::optional<std::int64_t> bos_token_id;
  std::optional<SlidingWindow> sliding_window;
  std::vector<Stage> stages;       // at least one, names unique
  std::vector<std::string> notes;  // what was left out or converted, one sentence each
};

// `path` is the folder, or the genai_config.json in it. Links are followed, but a stage's file name may not be absolute
// nor lead out of the folder, and nothing in it may be a FIFO or device. Errors name file and key: not_found (path,
// config, stage file, tokenizer), bad_input (all that is wrong in the config), io.
[[nodiscard]] Result<Bundle> read_bundle(fs::FileSystem& fs, const std::filesystem::path& path);

// `override_length` if given, else model.context_length; bad_input if there is neither, it is not positive, or the
// first is more than the second.
[[nodiscard]] Result<std::int64_t> context_length_of(const Bundle& bundle, std::optional<std::int64_t> override_length);

// Does any stage name an EP other than the CPU's? (OpenVINO counts whatever its device is.)
[[nodiscard]] bool uses_hardware(const Bundle& bundle);

}  // namespace precast::genai
