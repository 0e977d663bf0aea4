#include <array>
#include <cstdio>
#include <functional>
#include <memory>

#include <gmock/gmock.h>

#include "fs/counting_file_system.hpp"
#include "support.hpp"
#include "util/sha256.hpp"

namespace precast::identity::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// By a program that shares no code with precast.
std::string sha256sum(const stdfs::path& file) {
  const std::string command = "sha256sum '" + file.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 65> text{};
  return std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) == nullptr ? "" : text.data();
}

class IdentityOf : public TempFolder {
 protected:
  IdentityOf() : settings_(plain_settings("/opt/ort/libonnxruntime.so.1", "/opt/toy/libtoy.so")) {
    model_.model = "/models/resnet.onnx";
    model_.files = {file("/models/resnet.onnx", 'a')};
    libraries_ = {file("/opt/ort/libonnxruntime.so.1", 'b'), file("/opt/toy/libtoy.so", 'c')};
  }
  static FileEvidence file(const char* path, char digit) {
    FileEvidence evidence;
    evidence.path = path;
    evidence.sha256 = std::string(64, digit);
    return evidence;
  }
  Result<Identity> make() { return make_identity(fs_, digester_, settings_, model_, libraries_); }
  std::string key() {
    const auto identity = make();
    EXPECT_TRUE(identity) << identity.error().message;
    return identity ? identity->key : "";
  }
  // The key changes when the settings do.
  bool matters(const std::function<void()>& change) {
    const std::string before = key();
    change();
    return key() != before;
  }
  void be_openvino_cpu() {
    settings_.target.ep.found.spec = ort::find_ep("openvino");
    settings_.target.device.device_class = ort::DeviceClass::cpu;
  }

  fs::CountingFileSystem fs_{fs::FileSystem::posix()};
  RecordingDigester digester_{fs::FileSystem::posix()};
  Settings settings_;
  ModelEvidence model_;
  std::vector<FileEvidence> libraries_;
};

TEST_F(IdentityOf, CanonicalFormIsSortedJsonWithoutSpaces) {
  model_.facts.external_files = {external_at("data/w.bin")};
  model_.files.push_back(file("/models/data/w.bin", 'd'));
  settings_.target.provider_options = {{"tune", "3"}};
  settings_.session_config = {{"session.qdqisint8allowed", "1"}};
  settings_.free_dimensions = {{"batch", 4}};
  settings_.worker_environment = {"TOY_MODE", "TOY_UNSET"};
  settings_.environment = {{"TOY_MODE", "fast \"x\""}, {"HOME", "/root"}};
  const auto identity = make();
  ASSERT_TRUE(identity) << identity.error().message;
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const std::string c(64, 'c');
  const std::string d(64, 'd');
  EXPECT_EQ(
      identity->canonical,
      R"({"compiler":{"flags":"ERROR_IF_NO_NODES_COMPILED|ERROR_IF_OUTPUT_FILE_EXISTS",)"
      R"("ort_build":"ORT Build Info: git-branch=main","ort_version":"1.32.0"},)"
      R"("device":{"class":"gpu","device_id":7,"driver":"31.0","hardware":{},)"
      R"("metadata":{"arch":"t9","os_driver_version":"31.0"},"name":"Toy 9000","vendor_id":4660},)"
      R"("embed":false,"environment":{"TOY_MODE":"fast \"x\"","TOY_UNSET":null},)"
      R"("ep":{"name":"ToyExecutionProvider","vendor":"Toys","version":"1.2.3"},)"
      R"("ep_libraries":[["libonnxruntime.so.1",")" +
          b + R"("],["libtoy.so",")" + c +
          R"("]],)"
          R"("host":{"architecture":"x86_64","os":"Linux"},"option_files":{},"provider_options":{"tune":"3"},)"
          R"("schema":1,"session_options":{"config":{"session.qdqisint8allowed":"1"},"free_dimensions":{"batch":4},)"
          R"("optimization_level":"disable"},"source":{"external":[["data/w.bin",")" +
          d + R"("]],"model":")" + a + R"("}})");
  EXPECT_EQ(identity->key, sha256sum(write("canonical", identity->canonical)));
  EXPECT_EQ(identity->source_sha256,
            sha256sum(write("source", R"({"external":[["data/w.bin",")" + d + R"("]],"model":")" + a + R"("})")));
  EXPECT_EQ(identity->uncacheable, "");
}

TEST_F(IdentityOf, EveryFieldThatCanChangeTheResultChangesTheKey) {
  ort::Target& target = settings_.target;
  const std::vector<std::pair<const char*, std::function<void()>>> changes = {
      {"model", [&] { model_.files[0].sha256 = std::string(64, '1'); }},
      {"external data",
       [&] {
         model_.facts.external_files = {external_at("w")};
         model_.files.push_back(file("/models/w", '2'));
       }},
      {"content of external data", [&] { model_.files[1].sha256 = std::string(64, '3'); }},
      {"location", [&] { model_.facts.external_files[0].location = "v"; }},
      {"EP", [&] { target.device.ep_name = "OtherExecutionProvider"; }},
      {"EP vendor", [&] { target.ep.vendor = "Others"; }},
      {"EP version", [&] { target.ep.version = "1.2.4"; }},
      {"library", [&] { libraries_[1].sha256 = std::string(64, '4'); }},
      {"one library more", [&] { libraries_.push_back(file("/opt/toy/libmore.so", '5')); }},
      {"device class", [&] { target.device.device_class = ort::DeviceClass::npu; }},
      {"vendor id", [&] { target.device.vendor_id = 2; }},
      {"device id", [&] { target.device.device_id = 3; }},
      {"device name", [&] { target.device.name = "Toy 9001"; }},
      {"driver", [&] { target.device.ep_metadata["os_driver_version"] = "31.1"; }},
      {"metadata", [&] { target.device.ep_metadata["arch"] = "t10"; }},
      {"unknown metadata", [&] { target.device.ep_metadata["never heard of"] = "x"; }},
      {"hardware metadata", [&] { target.device.hardware_metadata["Discrete"] = "1"; }},
      {"the processor, for a CPU target", [&] { target.device.device_class = ort::DeviceClass::cpu; }},
      {"worker variable", [&] { settings_.worker_environment = {"TOY"}; }},
      {"its value", [&] { settings_.environment = {{"TOY", ""}}; }},
      {"option", [&] { target.provider_options["a"] = "1"; }},
      {"option value", [&] { target.provider_options["a"] = "2"; }},
      {"session config", [&] { settings_.session_config["ep.context_node_name_prefix"] = "p"; }},
      {"optimization level", [&] { settings_.optimization_level = 99; }},
      {"free dimension", [&] { settings_.free_dimensions["batch"] = 1; }},
      {"embed", [&] { settings_.embed = true; }},
      {"ORT version", [&] { settings_.ort_version = "1.33.0"; }},
      {"ORT build", [&] { settings_.ort_build += "x"; }},
  };
  for (const auto& [what, change] : changes) EXPECT_TRUE(matters(change)) << what;
}

TEST_F(IdentityOf, WhatCannotChangeTheResultDoesNotChangeTheKey) {
  ort::DeviceInfo& device = settings_.target.device;
  const std::vector<std::pair<const char*, std::function<void()>>> changes = {
      {"folder and name of the model", [&] { model_.model = model_.files[0].path = "/elsewhere/renamed.onnx"; }},
      {"time stamps", [&] { model_.files[0].stat.mtime_ns = model_.files[0].stat.ctime_ns = 99; }},
      {"folder of the EP",
       [&] {
         libraries_[1].path = "/copied/libtoy.so";
         settings_.target.ep.found.library = "/copied/libtoy.so";
         device.ep_metadata["library_path"] = "/copied/libtoy.so";
       }},
      {"where the EP was found", [&] { settings_.target.ep.found.source = "pypi"; }},
      {"order of libraries", [&] { std::swap(libraries_[0], libraries_[1]); }},
      {"a link to a library", [&] { libraries_.push_back(file("/opt/toy/libtoy.so.1", 'c')); }},
      {"order of its names", [&] { std::swap(libraries_[0], libraries_[2]); }},
      {"streams", [&] { device.ep_metadata["RANGE_FOR_STREAMS"] = "1 1"; }},
      {"slot",
       [&] { device.hardware_metadata = {{"pci_bus_id", "0000:00:1"}, {"card_idx", "3"}, {"DxgiAdapter", "1"}}; }},
      {"session that refuses the CPU", [&] { settings_.session_config["session.disable_cpu_ep_fallback"] = "1"; }},
      {"spinning", [&] { settings_.session_config["session.intra_op.allow_spinning"] = "0"; }},
      {"context path", [&] { settings_.session_config["ep.context_file_path"] = "/x/y.onnx"; }},
      {"unrelated variable", [&] { settings_.environment.emplace_back("EDITOR", "vi"); }},
  };
  for (const auto& [what, change] : changes) EXPECT_FALSE(matters(change)) << what;
}

TEST_F(IdentityOf, OrderOfExternalFilesIsNoPartOfIt) {
  model_.facts.external_files = {external_at("a"), external_at("b")};
  model_.files.push_back(file("/models/a", '1'));
  model_.files.push_back(file("/models/b", '2'));
  EXPECT_FALSE(matters([&] {
    std::swap(model_.files[1], model_.files[2]);
    std::swap(model_.facts.external_files[0], model_.facts.external_files[1]);
  }));
}

TEST_F(IdentityOf, TwoModelsWithSwappedDataAreTwoIdentities) {
  model_.facts.external_files = {external_at("a"), external_at("b")};
  model_.files.push_back(file("/models/a", '1'));
  model_.files.push_back(file("/models/b", '2'));
  EXPECT_TRUE(matters([&] { std::swap(model_.files[1].sha256, model_.files[2].sha256); }));
}

TEST_F(IdentityOf, CpuTargetNamesTheProcessorsInstructionSets) {
  settings_.target.device.device_class = ort::DeviceClass::cpu;
  const auto identity = make();
  ASSERT_TRUE(identity);
  EXPECT_THAT(identity->canonical, AllOf(HasSubstr(R"("cpu":{"family":)"), HasSubstr(R"("sse2")")));
}

TEST_F(IdentityOf, EnvironmentOfTheTableEntersForOpenVino) {
  be_openvino_cpu();
  EXPECT_TRUE(matters([&] { settings_.environment = {{"ONEDNN_MAX_CPU_ISA", "AVX2"}}; }));
  EXPECT_THAT(make()->canonical, HasSubstr(R"("environment":{"ONEDNN_MAX_CPU_ISA":"AVX2"})"));
  EXPECT_TRUE(matters([&] { settings_.environment = {{"ONEDNN_MAX_CPU_ISA", "SSE41"}}; }));
}

TEST_F(IdentityOf, BytesThatAreNotUtf8ChangeTheKeyAndAreNoError) {
  settings_.worker_environment = {"TOY"};
  settings_.environment = {{"TOY", "\xff"}};
  EXPECT_TRUE(matters([&] { settings_.environment = {{"TOY", "\xfe"}}; }));
  EXPECT_TRUE(matters([&] { settings_.environment = {{"TOY", "\\xfe"}}; }));
}

TEST_F(IdentityOf, UnknownDriverOfARealDeviceIsUncacheable) {
  settings_.target.device.ep_metadata.erase("os_driver_version");
  settings_.target.device.device_class = ort::DeviceClass::npu;
  EXPECT_THAT(make()->uncacheable, AllOf(HasSubstr("driver"), HasSubstr("npu"), HasSubstr("Toy 9000")));
  settings_.target.simulated = ort::Target::Simulated{"60", "73"};
  EXPECT_EQ(make()->uncacheable, "");
  settings_.target.simulated.reset();
  settings_.target.device.device_class = ort::DeviceClass::cpu;
  EXPECT_EQ(make()->uncacheable, "");
}

// ---- options --------------------------------------------------------------------------------------------------------

TEST_F(IdentityOf, RunTimeOptionsEnterOnlyWhenStrict) {
  settings_.target.ep.found.spec = ort::find_ep("qnn");
  EXPECT_FALSE(matters([&] { settings_.target.provider_options["htp_performance_mode"] = "burst"; }));
  EXPECT_TRUE(matters([&] { settings_.target.provider_options["htp_arch"] = "73"; }));
  settings_.strict_options = true;
  EXPECT_TRUE(matters([&] { settings_.target.provider_options["htp_performance_mode"] = "default"; }));
}

TEST_F(IdentityOf, LibraryOptionIsItsFileName) {
  settings_.target.ep.found.spec = ort::find_ep("qnn");
  settings_.target.provider_options["backend_path"] = "/a/libQnnHtp.so";
  EXPECT_FALSE(matters([&] { settings_.target.provider_options["backend_path"] = "/b/libQnnHtp.so"; }));
  EXPECT_TRUE(matters([&] { settings_.target.provider_options["backend_path"] = "/b/libQnnCpu.so"; }));
}

TEST_F(IdentityOf, DeclaredFileOptionIsItsContent) {
  settings_.extra_file_options = {"table"};
  settings_.target.provider_options["table"] = write("one", "same").string();
  const stdfs::path copy = write("two", "same");
  EXPECT_FALSE(matters([&] { settings_.target.provider_options["table"] = copy.string(); }));
  EXPECT_TRUE(matters([&] { write("two", "SAME"); }));
  EXPECT_THAT(make()->canonical, HasSubstr(R"("option_files":{"table":")" + util::sha256_hex("SAME") + R"("})"));
}

TEST_F(IdentityOf, UndeclaredOptionIsTextEvenIfSuchAFileExists) {
  const stdfs::path path = write("one", "content");
  settings_.target.provider_options["table"] = path.string();
  EXPECT_FALSE(matters([&] { write("one", "other"); }));
  EXPECT_THAT(make()->canonical, HasSubstr(path.string()));
}

TEST_F(IdentityOf, MissingFileOptionNamesTheKey) {
  settings_.extra_file_options = {"table", "other"};
  settings_.target.provider_options = {{"other", write("other", "x").string()}, {"table", (folder_ / "no").string()}};
  const auto identity = make();
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().code, ErrorCode::bad_input);
  EXPECT_THAT(identity.error().message, AllOf(HasSubstr("'table'"), HasSubstr((folder_ / "no").string())));
}

TEST_F(IdentityOf, LoadConfigIsItsMeaningInlineOrFromAFile) {
  be_openvino_cpu();
  auto& options = settings_.target.provider_options;
  options["load_config"] = R"({"CPU":{"INFERENCE_PRECISION_HINT":"f32","CACHE_DIR":"/a"}})";
  const stdfs::path file = write("c.json", R"({ "CPU": {"CACHE_DIR": "/b", "INFERENCE_PRECISION_HINT": "f32"} })");
  EXPECT_FALSE(matters([&] { options["load_config"] = file.string(); }));
  EXPECT_THAT(make()->canonical, Not(HasSubstr(folder_.string())));
  EXPECT_TRUE(matters([&] { write("c.json", R"({"CPU":{"INFERENCE_PRECISION_HINT":"bf16","CACHE_DIR":"/b"}})"); }));
  EXPECT_TRUE(matters([&] { write("c.json", R"({"CPU":{"INFERENCE_PRECISION_HINT":"bf16"}})"); }));
  EXPECT_TRUE(matters([&] { write("c.json", "not json"); }));
  EXPECT_TRUE(matters([&] { write("c.json", "not json either"); }));
  stdfs::remove(file);
  EXPECT_THAT(make().error().message, AllOf(HasSubstr("load_config"), HasSubstr(file.string())));
}

TEST_F(IdentityOf, CachesOfTheEpAreRedirected) {
  be_openvino_cpu();
  auto& options = settings_.target.provider_options;
  options["cache_dir"] = "/a";
  EXPECT_THAT(make()->canonical, HasSubstr(R"("cache_dir":"redirected")"));
  EXPECT_FALSE(matters([&] { options["cache_dir"] = "/b"; }));
}

TEST_F(IdentityOf, SettingsThatLeaveAPartOutsideAreRefusedByName) {
  be_openvino_cpu();
  const auto refused = [&](std::map<std::string, std::string> config, std::map<std::string, std::string> options,
                           const char* key) {
    settings_.session_config = std::move(config);
    settings_.target.provider_options = std::move(options);
    const auto identity = make();
    ASSERT_FALSE(identity) << key;
    EXPECT_EQ(identity.error().code, ErrorCode::bad_input) << key;
    EXPECT_THAT(identity.error().message, HasSubstr(key));
  };
  refused({{"ep.enable_weightless_ep_context_nodes", "1"}}, {}, "ep.enable_weightless_ep_context_nodes");
  refused({{"session.model_external_initializers_file_folder_path", "/x"}}, {},
          "session.model_external_initializers_file_folder_path");
  refused({{"ep.context_model_external_initializers_file_name", "x"}}, {},
          "ep.context_model_external_initializers_file_name");
  refused({}, {{"load_config", R"({"NPU":{"ENABLE_WEIGHTLESS":true}})"}}, "load_config");
  refused({}, {{"load_config", R"({"CPU":{"CACHE_MODE":"OPTIMIZE_SIZE"}})"}}, "load_config");
  refused({}, {{"op_packages", "Op:/x/libop.so:Init"}}, "op_packages");
  settings_.extra_files = {"/x/libop.so"};
  EXPECT_TRUE(make());
  settings_.session_config = {{"ep.enable_weightless_ep_context_nodes", "0"}};
  EXPECT_TRUE(make());
}

TEST_F(IdentityOf, WithoutOptionFilesNothingIsAskedOfTheFileSystem) {
  ASSERT_TRUE(make());
  EXPECT_EQ(fs_.counts().total(), 0U);
  EXPECT_TRUE(digester_.groups_.empty());
}

// ---- the whole way --------------------------------------------------------------------------------------------------

TEST_F(IdentityOf, CopiedRenamedAndTouchedModelHasTheSameKey) {
  write("a/model.onnx", onnx_bytes({{"w", "w.bin", 0, 2}}));
  write("a/w.bin", "ww");
  stdfs::copy(folder_ / "a", folder_ / "b");
  stdfs::rename(folder_ / "b/model.onnx", folder_ / "b/other name.onnx");
  const auto first = take_model_evidence(fs_, digester_, folder_ / "a/model.onnx");
  const auto second = take_model_evidence(fs_, digester_, folder_ / "b/other name.onnx");
  ASSERT_TRUE(first && second);
  model_ = *first;
  EXPECT_FALSE(matters([&] { model_ = *second; }));
  write("b/w.bin", "wW");
  const auto third = take_model_evidence(fs_, digester_, folder_ / "b/other name.onnx");
  ASSERT_TRUE(third);
  EXPECT_TRUE(matters([&] { model_ = *third; }));
}

}  // namespace
}  // namespace precast::identity::test
