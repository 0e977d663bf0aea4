#include "store/publish_plan.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "store/store_state.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::string_view kBinarySuffix = ".bin";
constexpr std::size_t kContentSuffix = 1 + 64 + kBinarySuffix.size();  // ".<SHA-256>.bin"
constexpr std::size_t kHashDigits = 8;

// A long text keeps its beginning, whole characters only, and gets digits that tell it from others like it.
std::string shorten(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t cut = limit - kHashDigits - 1;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  return fmt::format("{}-{}", text.substr(0, cut), util::sha256_hex(text).substr(0, kHashDigits));
}

bool has_parent_part(const std::filesystem::path& path) {
  return std::ranges::find(path, "..") != path.end();
}

class Planner {
 public:
  Planner(const PublishSource& source, const model::ModelFacts& facts, const std::string& output_name,
          const std::string& binary_stem)
      : source_(source),
        facts_(facts),
        output_name_(output_name),
        stem_(binary_stem.empty() ? std::filesystem::path(output_name).stem().native() : binary_stem) {}

  Result<PublishPlan> plan() {
    PRECAST_TRY(take_model());
    for (const model::EpContextNode& node : facts_.ep_context_nodes) PRECAST_TRY(take_binary(node));
    take_schematic();
    std::ranges::move(aliases_, std::back_inserter(plan_.files));
    PRECAST_TRY(check_names());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::filesystem::path model() const { return source_.folder / source_.model; }
  [[nodiscard]] const Artifact* find(std::string_view name) const {
    const auto found = std::ranges::find(source_.artifacts, name, &Artifact::path);
    return found == source_.artifacts.end() ? nullptr : &*found;
  }

  Result<void> take_model() {
    const Artifact* artifact = find(source_.model);
    if (artifact == nullptr) {
      return fail(ErrorCode::not_found, fmt::format("the generation has no {}", source_.model), model());
    }
    plan_.source = *artifact;
    if (facts_.external_files.empty()) return {};
    return fail(ErrorCode::unsupported,
                fmt::format("the compiled model keeps weights in '{}': such models cannot be published",
                            util::escape_to_line(facts_.external_files.front().location)),
                model(), "compile a model whose remaining weights fit into it");
  }

  Result<void> take_binary(const model::EpContextNode& node) {
    if (node.embedded || (!node.main && node.reference.empty())) return {};
    PRECAST_TRY_ASSIGN(const Artifact* artifact, referred_to(node.reference));
    const std::string alias = alias_of(artifact->path, stem_);
    const std::string name = fmt::format("{}.{}{}", alias, artifact->sha256, kBinarySuffix);
    plan_.references[node.reference] = name;
    if (!binaries_.insert(artifact->path).second) return {};
    plan_.files.push_back({PlannedFile::Role::binary, artifact->path, {name, artifact->size, artifact->sha256}});
    aliases_.push_back({PlannedFile::Role::alias,
                        artifact->path,
                        {alias + std::string(kBinarySuffix), artifact->size, artifact->sha256}});
    return {};
  }

  Result<const Artifact*> referred_to(const std::string& reference) const {
    const std::filesystem::path path(reference);
    const std::string name = path.lexically_normal().string();
    const std::string shown_name = util::escape_to_line(reference);
    if (has_parent_part(path) || !is_plain_name(name)) {
      return fail(
          ErrorCode::corrupt,
          fmt::format("the compiled model's reference '{}' is unsafe: it is no file name in its folder", shown_name),
          model(), "compile it again with --rebuild");
    }
    const Artifact* artifact = find(name);
    if (artifact != nullptr) return artifact;
    return fail(ErrorCode::not_found,
                fmt::format("the compiled model's binary '{}' is not part of its generation", shown_name),
                source_.folder / name, "compile it again with --rebuild");
  }

  // What a profiler of the EP looks for beside the model, under a name that the model gives.
  void take_schematic() {
    const auto is_main = [](const model::EpContextNode& node) { return node.main; };
    if (std::ranges::count_if(facts_.ep_context_nodes, is_main) != 1) return;
    const auto node = std::ranges::find_if(facts_.ep_context_nodes, is_main);
    if (node->partition_name.empty()) return;
    const std::string name = node->partition_name + "_schematic.bin";
    const Artifact* artifact = is_plain_name(name) ? find(name) : nullptr;
    if (artifact != nullptr) plan_.files.push_back({PlannedFile::Role::sidecar, name, *artifact});
  }

  Result<void> check_names() const {
    std::set<std::string, std::less<>> names = {output_name_};
    for (const PlannedFile& planned : plan_.files) {
      const std::string& name = planned.file.path;
      if (!is_plain_name(name)) {
        return fail(ErrorCode::bad_input,
                    fmt::format("the output's name '{}' cannot be part of the name of a binary: it is not UTF-8, or "
                                "has a backslash",
                                util::escape_to_line(output_name_)),
                    output_name_, "choose another name with -o");
      }
      if (names.insert(name).second) continue;
      return fail(ErrorCode::unsupported,
                  fmt::format("two files of the compiled model would be published as '{}'", util::escape_to_line(name)),
                  model(), "choose another name with -o, or --embed");
    }
    return {};
  }

  const PublishSource& source_;
  const model::ModelFacts& facts_;
  const std::string& output_name_;
  std::string stem_;
  PublishPlan plan_;
  std::vector<PlannedFile> aliases_;
  std::set<std::string> binaries_;  // in the generation
};

}  // namespace

std::string alias_of(std::string_view binary, std::string_view output_stem) {
  const std::string stem = std::filesystem::path(kModelName).stem().string();
  if (binary.ends_with(kBinarySuffix)) binary.remove_suffix(kBinarySuffix.size());
  const std::string alias = binary.starts_with(stem) ? fmt::format("{}{}", output_stem, binary.substr(stem.size()))
                                                     : fmt::format("{}_{}", output_stem, binary);
  return shorten(alias, kLongestName - kContentSuffix);
}

std::filesystem::path output_path(const OutputChoice& choice, const std::filesystem::path& model,
                                  std::string_view ep_alias) {
  if (!choice.file.empty()) return choice.file;
  const std::string suffix = fmt::format("_{}_ctx.onnx", ep_alias);
  const std::string stem = shorten(model.stem().native(), kLongestName - suffix.size());
  return (choice.folder.empty() ? model.parent_path() : choice.folder) / (stem + suffix);
}

std::vector<Artifact> PublishPlan::published_files() const {
  std::vector<Artifact> all;
  all.reserve(files.size());
  for (const PlannedFile& planned : files) all.push_back(planned.file);
  return all;
}

Result<PublishPlan> plan_publication(const PublishSource& source, const model::ModelFacts& facts,
                                     const std::string& output_name, const std::string& binary_stem) {
  return Planner(source, facts, output_name, binary_stem).plan();
}

}  // namespace precast::store
