// precast cache ls | show | verify | path
#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

constexpr std::size_t kShownKeyDigits = 12;

// What a store that nobody made yet has: nothing. Said, because the folder may be a typing error.
template <typename Things, typename Ask>
Result<Things> ask_store(Context& context, Ask ask) {
  const auto store = context.store(/*create=*/false);
  if (store) return ask(**store);
  if (store.error().code != ErrorCode::not_found) return std::unexpected(store.error());
  context.output.warn(store.error().message);
  return Things();
}

struct Listing {
  std::vector<store::Entry> entries;
  std::uint64_t bytes = 0;  // of all together
};

Result<Listing> list(store::Store& store) {
  Listing listing;
  PRECAST_TRY_ASSIGN(listing.entries, store.list());
  listing.bytes = store.bytes_together(listing.entries);
  return listing;
}

int run_ls(Context& context) {
  const auto listing = ask_store<Listing>(context, list);
  if (!listing) return report_error(context, "cache ls", listing.error());
  if (context.output.json) {
    nlohmann::json json = document("cache ls");
    json["entries"] = nlohmann::json::array();
    for (const store::Entry& entry : listing->entries) json["entries"].push_back(to_json(entry));
    json["total_bytes"] = listing->bytes;
    context.output.machine_json(json);
    return kDone;
  }
  std::vector<std::vector<std::string>> cells{{"KEY", "EP", "DEVICE", "SIZE", "LAST USED", "MODEL"}};
  for (const store::Entry& entry : listing->entries) {
    cells.push_back({entry.marker.key.substr(0, kShownKeyDigits), entry.marker.ep, entry.marker.device,
                     util::format_bytes(entry.bytes), entry.last_used, entry.marker.model});
  }
  context.output.machine(util::format_table(std::move(cells)));
  const std::size_t count = listing->entries.size();
  context.output.note(count == 0 ? "the store is empty"
                                 : std::to_string(count) + (count == 1 ? " entry, " : " entries, ") +
                                       util::format_bytes(listing->bytes) + " on disk");
  return kDone;
}

int run_show(Context& context, const std::string& key) {
  const auto store = context.store(/*create=*/false);
  if (!store) return report_error(context, "cache show", store.error());
  const auto entry = (*store)->find(key);
  if (!entry) return report_error(context, "cache show", entry.error());
  const store::Marker& marker = entry->marker;
  nlohmann::json json = document("cache show");
  json.update(to_json(*entry));
  json["path"] = path_text((*store)->layout().generation(marker.generation) / marker.artifacts.front().path);
  json["identity"] = nlohmann::json::parse(marker.identity, nullptr, false);
  json["compatibility"] = marker.compatibility;
  json["compile_seconds"] = marker.compile_seconds;
  json["created_by"] = "precast " + marker.precast_version;
  json["artifacts"] = nlohmann::json::array();
  for (const store::Artifact& artifact : marker.artifacts) {
    json["artifacts"].push_back({{"path", artifact.path}, {"size", artifact.size}, {"sha256", artifact.sha256}});
  }
  if (context.output.json) {
    context.output.machine_json(json);
  } else {
    context.output.machine(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  return kDone;
}

// Says how far it is when it takes longer than a second.
class VerifyProgress {
 public:
  explicit VerifyProgress(Output& output) : output_(output) {}
  void operator()(std::uint64_t done, std::uint64_t total) {
    const double elapsed = watch_.elapsed_ms();
    if (elapsed < next_ms_) return;
    next_ms_ = elapsed + (output_.terminal() ? 500 : 10'000);
    output_.status("verifying: " + util::format_bytes(done) + " of " + util::format_bytes(total));
  }

 private:
  Output& output_;
  util::Stopwatch watch_;
  double next_ms_ = 1000;
};

int run_verify(Context& context) {
  VerifyProgress progress(context.output);
  const auto findings = ask_store<std::vector<store::Finding>>(context, [&](store::Store& store) {
    return store.verify([&](std::uint64_t done, std::uint64_t total) { progress(done, total); });
  });
  if (!findings) return report_error(context, "cache verify", findings.error());
  bool damaged = false;
  nlohmann::json json = document("cache verify");
  json["findings"] = nlohmann::json::array();
  for (const store::Finding& finding : *findings) {
    damaged |= finding.damaged;
    json["findings"].push_back({{"path", path_text(finding.path)},
                                {"key", finding.key.empty() ? nlohmann::json(nullptr) : nlohmann::json(finding.key)},
                                {"damaged", finding.damaged},
                                {"message", util::escape_invalid_utf8(finding.message)}});
    const std::string text = path_text(finding.path) + ": " + finding.message;
    if (finding.damaged) {
      context.output.warn(text);
    } else {
      context.output.note("note: " + text);
    }
  }
  json["ok"] = !damaged;
  if (context.output.json) context.output.machine_json(json);
  context.output.note(damaged ? "the store has damaged entries; they are never served, and a rebuild replaces them"
                              : "every stored byte is the one that was stored");
  if (!damaged) return kDone;
  return context.options.strict ? kStore : kFailed;
}

int run_path(Context& context) {
  const auto root = store::default_root(context.options.cache_dir);
  if (root.empty()) {
    return report_error(context, "cache path",
                        {ErrorCode::bad_input,
                         "there is no folder for the store: HOME is not set",
                         {},
                         "give --cache-dir or set PRECAST_CACHE_DIR"});
  }
  if (!context.output.json) {
    context.output.machine(root.native() + "\n");
    return kDone;
  }
  nlohmann::json json = document("cache path");
  json["path"] = path_text(root);
  context.output.machine_json(json);
  return kDone;
}

}  // namespace

void add_cache_command(CLI::App& app, Body& chosen) {
  CLI::App* command = app.add_subcommand("cache", "See and check what is stored");
  command->fallthrough();
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  precast cache ls\n"
      "  precast cache show 3f2a\n"
      "  precast cache verify\n"
      "  du -sh \"$(precast cache path)\"\n\n"
      "SIZE is what an entry has on disk. A bundle and its stages have files in common: these count in each of them, "
      "and\n"
      "once in the total that ls gives at the end (total_bytes under --json).");
  CLI::App* ls = command->add_subcommand("ls", "List what is stored, most recently used first");
  ls->fallthrough()->callback([&chosen] { chosen = run_ls; });
  CLI::App* show = command->add_subcommand("show", "Everything about one entry, its identity included");
  auto key = std::make_shared<std::string>();
  show->add_option("KEY", *key, "The key, or its first digits (at least 4)")->required();
  show->fallthrough()->callback(
      [&chosen, key] { chosen = [key](Context& context) { return run_show(context, *key); }; });
  CLI::App* verify = command->add_subcommand("verify", "Hash everything that is stored");
  verify->fallthrough()->callback([&chosen] { chosen = run_verify; });
  CLI::App* path = command->add_subcommand("path", "Print the store's folder");
  path->fallthrough()->callback([&chosen] { chosen = run_path; });
}

}  // namespace precast::cli
