#include "ort/support.hpp"

#include <cstdlib>
#include <fstream>
#include <system_error>

namespace precast::ort::tests {

namespace {

class TestProcess : public testing::Environment {
 public:
  void SetUp() override {
    // Without it ORT writes telemetry into the home folder of whoever runs the tests.
    ASSERT_EQ(setenv("ORT_DISABLE_TELEMETRY", "1", 1), 0);
    // Without it OpenVINO's TBB ends a process that has a sanitizer.
    ASSERT_EQ(setenv("TBB_ENABLE_SANITIZERS", "1", 1), 0);
    ASSERT_EQ(unsetenv("PRECAST_ORT_LIBRARY"), 0);
    ASSERT_EQ(unsetenv("PRECAST_ASSUME_CPU_VENDOR"), 0);
  }
};

const auto* const kTestProcess = testing::AddGlobalTestEnvironment(new TestProcess);

}  // namespace

TempFolder::TempFolder() {
  std::string pattern = (stdfs::temp_directory_path() / "precast-ort-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder " << pattern;
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code error;  // what is left in /tmp hurts nobody
  stdfs::remove_all(path_, error);
}

stdfs::path TempFolder::write(const stdfs::path& name, std::string_view text) const {
  const stdfs::path file = path_ / name;
  stdfs::create_directories(file.parent_path());
  std::ofstream(file) << text;
  return file;
}

std::shared_ptr<Runtime> runtime() {
  // OpenVINO must offer its CPU device whoever made the CPU of the machine.
  auto loaded = Runtime::load({.library = kOrtLibrary, .executable_directory = {}, .assume_cpu_vendor = "intel"});
  if (!loaded) {
    ADD_FAILURE() << text_of(loaded.error());
    std::abort();
  }
  return *loaded;
}

std::vector<FoundEp> checkout_eps() {
  DiscoveryOptions options;
  options.executable_directory = kDeps.parent_path() / "build/bin";
  options.system_directories.clear();
  auto found = discover_eps(disk(), options);
  if (!found) ADD_FAILURE() << text_of(found.error());
  return found.value_or(std::vector<FoundEp>{});
}

FoundEp found_ep(const std::string& name, const std::string& source) {
  return FoundEp{name, source, name == "CPUExecutionProvider" ? "" : "/eps/" + name + ".so", find_ep(name)};
}

DeviceInfo device(const std::string& ep, DeviceClass device_class, const std::string& name) {
  DeviceInfo info;
  info.ep_name = ep;
  info.device_class = device_class;
  info.name = name;
  return info;
}

EpDescription description(const std::string& ep, const std::vector<DeviceClass>& classes) {
  EpDescription described;
  described.found = found_ep(ep);
  for (const DeviceClass device_class : classes) described.devices.push_back(device(ep, device_class));
  return described;
}

std::string text_of(const Error& error) {
  return std::string(to_string(error.code)) + ": " + error.message + " [" + error.hint + "]";
}

}  // namespace precast::ort::tests
