#include "ort/discovery.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "ort/executable.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

namespace stdfs = std::filesystem;

stdfs::path path_from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? stdfs::path{} : stdfs::path{value};
}

bool is_valid_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
  });
}

// Fills `found` place by place. A place that cannot be looked into offers nothing: that is no error of the user's.
class Finder {
 public:
  Finder(fs::FileSystem& fs, std::string_view only) : fs_(fs) {
    const std::string name = parse_ep_reference(only).name;
    if (name.empty() || util::ascii_lower(name) == "auto") {
      for (const EpSpec& spec : ep_table()) wanted_.push_back(&spec);
    } else if (const EpSpec* spec = find_ep(name); spec != nullptr) {
      wanted_.push_back(spec);
    }
  }

  [[nodiscard]] bool wants_one() const { return wanted_.size() == 1; }
  [[nodiscard]] bool is_directory(const stdfs::path& path) const {
    const auto stat = fs_.stat(path);
    return stat && stat->kind == fs::FileKind::directory;
  }

  void look_into(const stdfs::path& folder, std::string_view source) {
    for (const EpSpec* spec : wanted_) look_for(*spec, folder, source);
  }

  void look_into_children(const stdfs::path& folder, std::string_view source) {
    const auto entries = fs_.list(folder);
    if (!entries) return;
    for (const fs::DirEntry& entry : *entries) {
      // The kind is not asked: looking for a file inside what is no folder finds nothing, which is right and cheaper.
      if (entry.name.ends_with(".dist-info") || entry.name.ends_with(".libs")) continue;
      look_into(folder / entry.name, source);
    }
  }

  // .deps/eps/<anything>/<package folder>/<library>; for one EP first where tools/setup puts it.
  void look_into_bundle(const stdfs::path& eps) {
    if (wants_one()) {
      const std::size_t before = found_.size();
      const EpSpec& spec = *wanted_.front();
      for (const std::string_view folder : spec.package_folders) {
        look_for(spec, eps / spec.aliases.front() / folder, "bundled");
      }
      if (found_.size() != before) return;
    }
    const auto entries = fs_.list(eps);
    if (!entries) return;
    for (const fs::DirEntry& entry : *entries) look_into_children(eps / entry.name, "bundled");
  }

  void look_into_python(const stdfs::path& prefix) {
    for (const stdfs::path& packages : site_packages(fs_, prefix)) {
      for (const EpSpec* spec : wanted_) {
        for (const std::string_view folder : spec->package_folders) look_for(*spec, packages / folder, "pypi");
      }
    }
  }

  void add(FoundEp ep) {
    const bool known = std::ranges::any_of(
        found_, [&](const FoundEp& other) { return other.name == ep.name && other.source == ep.source; });
    if (!known) found_.push_back(std::move(ep));
  }

  [[nodiscard]] const std::vector<FoundEp>& found() const { return found_; }

 private:
  void look_for(const EpSpec& spec, const stdfs::path& folder, std::string_view source) {
    for (const std::string_view name : spec.library_names) {
      const stdfs::path library = folder / name;
      const auto stat = fs_.stat(library);
      if (!stat || stat->kind != fs::FileKind::regular) continue;
      return add(FoundEp{std::string(spec.name), std::string(source), library.lexically_normal(), &spec});
    }
  }

  fs::FileSystem& fs_;
  std::vector<const EpSpec*> wanted_;
  std::vector<FoundEp> found_;
};

}  // namespace

std::vector<stdfs::path> site_packages(fs::FileSystem& fs, const stdfs::path& prefix) {
  std::vector<stdfs::path> folders;
  if (prefix.empty()) return folders;
  const auto entries = fs.list(prefix / "lib");
  if (!entries) return folders;
  for (const fs::DirEntry& entry : *entries) {
    if (util::glob_match("python3*", entry.name)) folders.push_back(prefix / "lib" / entry.name / "site-packages");
  }
  return folders;
}

namespace {

Result<FoundEp> explicit_ep(fs::FileSystem& fs, const std::string& name, const stdfs::path& given) {
  const EpSpec* spec = find_ep(name);
  const std::string option = fmt::format("--ep-library {}={}", name, util::escape_to_line(given.native()));
  if (spec == nullptr && !is_valid_name(name)) {
    return fail(ErrorCode::bad_input, fmt::format("{}: '{}' cannot be the name of an EP", option, name), {},
                "use letters, digits, '.', '_' and '-'");
  }
  if (spec != nullptr && spec->name == "CPUExecutionProvider") {
    return fail(ErrorCode::bad_input, fmt::format("{}: the CPU EP is built into ONNX Runtime", option), {},
                "leave the option out");
  }
  std::error_code error;
  const stdfs::path library = stdfs::absolute(given, error).lexically_normal();
  if (given.empty() || error) {
    return fail(ErrorCode::bad_input, fmt::format("{}: no path", option), given, "write NAME=PATH");
  }
  const auto stat = fs.stat(library);
  if (!stat && !fs::is_not_found(stat.error())) return std::unexpected<Error>(stat.error());
  if (!stat) {
    return fail(ErrorCode::not_found, fmt::format("{}: there is no such file", option), library,
                "give the path of the EP's plugin library");
  }
  if (stat->kind != fs::FileKind::regular) {
    return fail(ErrorCode::bad_input, fmt::format("{}: that is not a file", option), library,
                "give the path of the EP's plugin library itself");
  }
  return FoundEp{spec != nullptr ? std::string(spec->name) : name, "explicit", library, spec};
}

stdfs::path absolute_or_same(const stdfs::path& path) {
  if (path.empty()) return path;
  std::error_code error;
  stdfs::path absolute = stdfs::absolute(path, error);
  return error ? path : absolute;
}

std::string names_in(const std::vector<FoundEp>& found) {
  std::string text = known_ep_aliases();
  for (const FoundEp& ep : found) {
    if (ep.spec == nullptr) text += ", " + ep.name;
  }
  return text;
}

bool is_named(const FoundEp& ep, std::string_view name) {
  return util::ascii_lower(ep.name) == util::ascii_lower(name);
}

}  // namespace

DiscoveryOptions discovery_options_from_environment() {
  DiscoveryOptions options;
  options.ep_directory = path_from_environment("PRECAST_EP_PATH");
  options.executable_directory = executable_directory();
  options.virtual_env = path_from_environment("VIRTUAL_ENV");
  options.conda_prefix = path_from_environment("CONDA_PREFIX");
  return options;
}

Result<std::vector<FoundEp>> discover_eps(fs::FileSystem& fs, const DiscoveryOptions& options) {
  Finder finder(fs, options.only);
  for (const auto& [name, path] : options.explicit_libraries) {
    PRECAST_TRY_ASSIGN(FoundEp ep, explicit_ep(fs, name, path));
    for (const FoundEp& other : finder.found()) {
      if (is_named(other, ep.name)) {
        return fail(ErrorCode::bad_input, fmt::format("--ep-library names {} twice", ep.name), path,
                    "give one library for each EP");
      }
    }
    finder.add(std::move(ep));
  }
  if (!options.ep_directory.empty()) {
    const stdfs::path directory = absolute_or_same(options.ep_directory);
    if (!finder.is_directory(directory)) {
      return fail(ErrorCode::not_found,
                  fmt::format("PRECAST_EP_PATH names {}, which is not a folder", util::quoted(options.ep_directory)),
                  directory, "name a folder with EP libraries, or unset the variable");
    }
    finder.look_into(directory, "directory");
    finder.look_into_children(directory, "directory");
  }
  for (const stdfs::path& folder : with_parents(options.executable_directory, kCheckoutParents)) {
    const stdfs::path eps = folder / ".deps" / "eps";
    if (!finder.is_directory(eps)) continue;
    finder.look_into_bundle(eps);
    break;
  }
  finder.look_into_python(absolute_or_same(options.virtual_env));
  finder.look_into_python(absolute_or_same(options.conda_prefix));
  for (const stdfs::path& folder : options.system_directories) {
    if (finder.is_directory(folder)) finder.look_into(folder, "system");
  }
  const EpSpec* cpu = find_ep("cpu");
  finder.add(FoundEp{std::string(cpu->name), "built_in", {}, cpu});
  return finder.found();
}

EpReference parse_ep_reference(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const std::string_view name = util::trim(text.substr(0, at));
  EpReference reference;
  const EpSpec* spec = find_ep(name);
  reference.name = spec != nullptr ? std::string(spec->name) : std::string(name);
  if (at != std::string_view::npos) reference.source = util::ascii_lower(util::trim(text.substr(at + 1)));
  return reference;
}

Result<const FoundEp*> select_ep(const std::vector<FoundEp>& found, const EpReference& reference) {
  std::string sources;
  for (const FoundEp& ep : found) {
    if (!is_named(ep, reference.name)) continue;
    if (reference.source.empty() || ep.source == reference.source) return &ep;
    sources += (sources.empty() ? "" : ", ") + ep.source;
  }
  if (!sources.empty()) {
    return fail(ErrorCode::ep_unavailable,
                fmt::format("EP {} was not found with the source '{}'", reference.name, reference.source), {},
                fmt::format("it was found with: {}", sources));
  }
  const EpSpec* spec = find_ep(reference.name);
  if (spec == nullptr) {
    return fail(ErrorCode::bad_input, fmt::format("there is no EP named '{}'", reference.name), {},
                fmt::format("use one of {}, or add yours with --ep-library NAME=PATH", names_in(found)));
  }
  return fail(ErrorCode::ep_unavailable, fmt::format("EP {} was not found", spec->name), {},
              fmt::format("install {}, or name its library with --ep-library {}=PATH", spec->install_hint,
                          spec->aliases.front()));
}

}  // namespace precast::ort
