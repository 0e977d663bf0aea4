#include "context.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "blob.hpp"
#include "environment.hpp"
#include "error.hpp"
#include "node_reader.hpp"

namespace precast::fake_ep {
namespace {

namespace fs = std::filesystem;

fs::path output_model(const Settings& settings, const fs::path& model_path) {
  if (!settings.context_file.empty()) return settings.context_file;
  if (model_path.empty()) return "model_ctx.onnx";
  return model_path.parent_path() / (model_path.stem().string() + "_ctx.onnx");
}

// An absolute path, without asking what it names.
fs::path absolute_folder(const fs::path& file) {
  return fs::absolute(file).parent_path().lexically_normal();
}

void write_file(const fs::path& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw EpError(file.string() + ": cannot be written: " + std::generic_category().message(errno));
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw EpError(file.string() + ": cannot be read: " + std::generic_category().message(errno));
  return bytes;
}

Ort::OpAttr text(const char* name, const std::string& value) {
  return {name, value.data(), static_cast<int>(value.size()), ORT_OP_ATTR_STRING};
}

Ort::OpAttr integer(const char* name, std::int64_t value) {
  return {name, &value, 1, ORT_OP_ATTR_INT};
}

std::vector<std::string> names_of(const std::vector<Ort::ConstValueInfo>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& value : values) names.push_back(value.GetName());
  return names;
}

fs::path folder_of_binaries(const Settings& settings, const fs::path& model_path) {
  if (settings.context_file.is_absolute()) return settings.context_file.parent_path();
  if (!settings.initializers_folder.empty()) return settings.initializers_folder;
  return model_path.parent_path();
}

// Checks the reference as real EPs do, with their misleading code.
fs::path binary_of(const std::string& reference, const fs::path& folder) {
  const fs::path relative(reference);
  if (reference.empty()) throw EpError("EPContext node: ep_cache_context is missing or empty");
  bool leaves = relative.is_absolute();
  for (const fs::path& part : relative) leaves = leaves || part == "..";
  if (leaves) throw EpError("EPContext node: the reference leaves the model's folder", ORT_NOT_IMPLEMENTED);
  return folder / relative;
}

}  // namespace

ContextWriter::ContextWriter(const Settings& settings, const Faults& faults, const fs::path& model_path)
    : settings_(settings),
      bad_reference_(faults.behaviour("bad_reference").value_or("")),
      truncate_(faults.behaviour("truncate_binary").has_value()),
      empty_(faults.behaviour("empty_binary").has_value()),
      missing_(faults.behaviour("missing_binary").has_value()),
      source_(faults.behaviour("other_source").value_or(settings.ep_name)) {
  const fs::path output = output_model(settings, model_path);
  folder_ = absolute_folder(output);
  stem_ = output.stem().string();
}

void ContextWriter::write(const std::vector<Program>& programs, std::size_t first_index) {
  if (settings_.share_context) {
    add_binary(write_blob(programs), first_index);
    references_.resize(programs.size(), {.main = false, .present = false, .cache_context = {}});
    return;
  }
  for (std::size_t i = 0; i < programs.size(); ++i) add_binary(write_blob({programs[i]}), first_index + i);
}

void ContextWriter::add_binary(const std::string& blob, std::size_t partition) {
  const std::string bytes = blob.substr(0, empty_ ? 0 : truncate_ ? blob.size() / 2 : blob.size());
  Reference& reference = references_.emplace_back();
  reference.present = !(settings_.embed && missing_);
  reference.cache_context = settings_.embed ? bytes : write_external(bytes, partition);
}

std::string ContextWriter::write_external(const std::string& bytes, std::size_t partition) const {
  std::string name = stem_ + "_" + settings_.ep_name + (partition == 0 ? "" : "_" + std::to_string(partition)) +
                     (bad_reference_ == "notutf8" ? "\xFF" : "") + ".bin";
  const fs::path file = folder_ / name;
  fs::path target = file;
  if (bad_reference_ == "link") {
    target = folder_.parent_path() / (name + ".outside");
    fs::remove(file);
    fs::create_symlink(fs::path("..") / (name + ".outside"), file);
  }
  if (!missing_) write_file(target, bytes);
  if (bad_reference_ == "absolute") return file.string();
  if (bad_reference_ == "dotdot") return (fs::path("..") / folder_.filename() / name).string();
  if (bad_reference_ == "empty") return "";
  return name;
}

Ort::Node ContextWriter::node(const Program& program, std::size_t index) const {
  const Reference& reference = references_.at(index);
  std::vector<Ort::OpAttr> attributes;
  attributes.push_back(integer("main_context", reference.main ? 1 : 0));
  attributes.push_back(integer("embed_mode", settings_.embed ? 1 : 0));
  if (reference.present) attributes.push_back(text("ep_cache_context", reference.cache_context));
  attributes.push_back(text("source", source_));
  attributes.push_back(text("ep_sdk_version", environment_or("VERSION", "1.0.0")));
  attributes.push_back(text("partition_name", program.name));
  attributes.push_back(text("hardware_architecture", "fake"));
  return {"EPContext", "com.microsoft", program.name, program.inputs, program.outputs, attributes};
}

Ort::Node copy_context_node(Ort::ConstNode node, const std::string& name) {
  std::vector<Ort::OpAttr> attributes;
  for (const char* key : {"main_context", "embed_mode"}) {
    if (const auto value = integer_attribute(node, key)) attributes.push_back(integer(key, *value));
  }
  for (const char* key : {"ep_cache_context", "source", "ep_sdk_version", "partition_name", "hardware_architecture"}) {
    if (const auto value = text_attribute(node, key)) attributes.push_back(text(key, *value));
  }
  return {"EPContext", "com.microsoft", name, names_of(node.GetInputs()), names_of(node.GetOutputs()), attributes};
}

void ContextLoader::load(std::span<const Ort::ConstNode> nodes, const Settings& settings, const fs::path& model_path) {
  for (const auto& node : nodes) {
    if (integer_attribute(node, "main_context").value_or(1) == 0) continue;
    const std::string context = text_attribute(node, "ep_cache_context").value_or("");
    const bool embedded = integer_attribute(node, "embed_mode").value_or(1) != 0;
    const std::string bytes =
        embedded ? context : read_file(binary_of(context, folder_of_binaries(settings, model_path)));
    for (Program& program : read_blob(bytes)) {
      Program& partition = partitions_[program.name];
      partition = std::move(program);
    }
  }
}

const Program& ContextLoader::partition_of(Ort::ConstNode node) const {
  const std::string name = text_attribute(node, "partition_name").value_or("");
  const auto found = partitions_.find(name);
  if (found == partitions_.end()) throw EpError("no context binary contains the partition '" + name + "'");
  return found->second;
}

}  // namespace precast::fake_ep
