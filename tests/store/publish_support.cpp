#include "store/publish_support.hpp"

#include <utility>

#include "model/model_builder.hpp"
#include "model/model_facts.hpp"
#include "util/sha256.hpp"

namespace precast::store::testing {

namespace {

void add_node(onnx::GraphProto& graph, const ContextNode& node) {
  auto& proto = *graph.add_node();
  proto.set_op_type("EPContext");
  proto.set_domain("com.microsoft");
  model::add_attribute(proto, "embed_mode").set_i(node.embedded ? 1 : 0);
  model::add_attribute(proto, "main_context").set_i(node.main ? 1 : 0);
  model::add_attribute(proto, "ep_cache_context").set_s(node.reference);
  if (!node.partition.empty()) model::add_attribute(proto, "partition_name").set_s(node.partition);
}

}  // namespace

std::string context_model(const std::vector<ContextNode>& nodes, const std::string& tag) {
  auto model = model::empty_model();
  model.set_producer_name(tag);
  for (const ContextNode& node : nodes) add_node(*model.mutable_graph(), node);
  return model.SerializeAsString();
}

std::vector<std::string> references_of(const std::filesystem::path& model) {
  const auto facts = model::read_model(fs::FileSystem::posix(), model);
  if (!facts) return {facts.error().message};
  std::vector<std::string> references;
  for (const model::EpContextNode& node : facts->ep_context_nodes) references.push_back(node.reference);
  return references;
}

Files files_in(const std::filesystem::path& folder) {
  Files files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (!fs::is_temporary(name)) files[name] = entry.is_regular_file() ? contents(entry.path()) : "not a file";
  }
  return files;
}

std::size_t temporaries_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (fs::is_temporary(entry.path().filename().string())) ++count;
  }
  return count;
}

std::string content_name(const std::string& alias, const std::string& bytes) {
  return alias + "." + util::sha256_hex(bytes) + ".bin";
}

PublishTest::PublishTest() : store_(open_store(fs_, folder_ / "root")) {
  put(source_, "the source");
  std::filesystem::create_directory(out_);
}

const Hit& PublishTest::generation(const std::string& name, const Files& files) {
  auto work = store_->begin_work();
  EXPECT_TRUE(work);
  for (const auto& [file, bytes] : files) put(work->output_folder() / file, bytes);
  auto committed = store_->commit(*std::move(work), marker_for(name, source_));
  EXPECT_TRUE(committed) << committed.error().message;
  hits_.push_back(std::make_unique<Hit>(std::move(committed->hit)));
  return *hits_.back();
}

const Hit& PublishTest::simple_generation(const std::string& bytes) {
  return generation(bytes, {{"model.onnx", context_model({{"model_npu.bin"}})}, {"model_npu.bin", bytes}});
}

PublishRequest PublishTest::request(bool overwrite) const {
  return {
      .output = output_, .inputs = {source_}, .overwrite = overwrite, .wait = {.timeout = std::chrono::seconds(10)}};
}

Result<Published> PublishTest::publish_to_output(const Hit& hit, bool overwrite) {
  return publish(*store_, source_of(hit), request(overwrite));
}

Published PublishTest::must_publish(const Hit& hit, bool overwrite) {
  auto published = publish_to_output(hit, overwrite);
  if (!published) {
    ADD_FAILURE() << published.error().message;
    return {};
  }
  EXPECT_EQ(temporaries_in(out_), 0U);
  return *std::move(published);
}

void PublishTest::expect_refused(const Result<Published>& result, const Files& before, ErrorCode code,
                                 const std::string& words) {
  ASSERT_FALSE(result) << words;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  EXPECT_FALSE(result.error().hint.empty()) << result.error().message;
  EXPECT_EQ(files_in(out_), before) << words;
  EXPECT_EQ(temporaries_in(out_), 0U) << words;
}

std::string PublishTest::record_text() const {
  const Files records = files_in(store_->layout().publish());
  EXPECT_LE(records.size(), 1U);
  return records.empty() ? std::string() : records.begin()->second;
}

}  // namespace precast::store::testing
