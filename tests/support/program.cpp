#include "support/program.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include <sys/stat.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "process/descriptor_posix.hpp"
#include "util/text.hpp"

namespace precast::testing {

namespace {

namespace stdfs = std::filesystem;

int open_new(const stdfs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

stdfs::path program_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  return stdfs::path(PRECAST_BINARY_DIR) / "bin" / program;
}

std::vector<std::pair<std::string, std::string>> whole_environment(const stdfs::path& scratch, const Environment& env) {
  stdfs::create_directories(scratch / "home");
  Environment all{{"PATH", "/usr/bin:/bin"}, {"HOME", (scratch / "home").native()}, {"TMPDIR", scratch.native()}};
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TBB_ENABLE_SANITIZERS"}) {
    if (const char* value = std::getenv(name); value != nullptr) all[name] = value;
  }
  for (const auto& [name, value] : env) all[name] = value;
  return {all.begin(), all.end()};
}

}  // namespace

Folder::Folder() {
  std::string name = (stdfs::temp_directory_path() / "precast-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;  // what is left in the system's temporary folder harms nobody
  stdfs::remove_all(path_, ignored);
}

nlohmann::json Ran::json() const {
  nlohmann::json document = nlohmann::json::parse(out, nullptr, false);
  if (document.is_discarded() || !document.is_object()) return {{"not_json", out}, {"stderr", err}};
  return document;
}

Ran run_in_terminal(const stdfs::path& scratch, const std::string& program, std::vector<std::string> arguments,
                    const Environment& env) {
  Ran ran;
  const process::Descriptor screen(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  if (::grantpt(screen.get()) != 0 || ::unlockpt(screen.get()) != 0 ||
      ::ptsname_r(screen.get(), name, sizeof name) != 0) {
    ADD_FAILURE() << "there is no pseudo-terminal";
    return ran;
  }
  process::Descriptor theirs(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  auto child = process::Child::spawn({.program = program_path(program),
                                      .arguments = std::move(arguments),
                                      .environment = whole_environment(scratch, env),
                                      .working_directory = {},
                                      .descriptors = {{theirs.get(), 2}}});
  if (!child) {
    ADD_FAILURE() << child.error().message;
    return ran;
  }
  theirs.reset();
  // Once nobody has the other end open, reading ends with EIO.
  char block[4096];
  for (ssize_t count = 0; (count = ::read(screen.get(), block, sizeof block)) > 0;) {
    ran.err.append(block, static_cast<std::size_t>(count));
  }
  const auto exit = child->wait(std::chrono::seconds(60));
  if (exit && *exit) ran.exit = **exit;
  ran.code = ran.exit.code.value_or(-1);
  return ran;
}

Running::Running(const stdfs::path& scratch, const std::string& program, std::vector<std::string> arguments,
                 const Environment& env, const stdfs::path& working_directory) {
  const std::string id = util::new_uuid();
  out_ = scratch / ("out-" + id);
  err_ = scratch / ("err-" + id);
  const int out = open_new(out_);
  const int err = open_new(err_);
  auto child = process::Child::spawn({.program = program_path(program),
                                      .arguments = std::move(arguments),
                                      .environment = whole_environment(scratch, env),
                                      .working_directory = working_directory,
                                      .descriptors = {{out, 1}, {err, 2}}});
  ::close(out);
  ::close(err);
  if (!child) {
    ADD_FAILURE() << child.error().message;
    std::abort();
  }
  child_ = std::make_unique<process::Child>(std::move(*child));
}

bool Running::wait_for_words(std::string_view words) const {
  for (int i = 0; i < 1200; ++i) {
    if (read_file(err_).find(words) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

Ran Running::wait(std::chrono::seconds limit) {
  Ran ran;
  const auto exit = child_->wait(limit);
  if (!exit || !*exit) {
    ADD_FAILURE() << "the program did not end within " << limit.count() << " s; stderr: " << read_file(err_);
    child_->kill_group(SIGKILL);
    return ran;
  }
  ran.exit = **exit;
  ran.code = ran.exit.code.value_or(-1);
  ran.out = read_file(out_);
  ran.err = read_file(err_);
  return ran;
}

Precast::Precast() : scratch_(std::make_shared<Folder>()) {
  env["PRECAST_CACHE_DIR"] = store().native();
  env["FAKE_EP_TRACE"] = trace().native();
}

Ran Precast::run(std::vector<std::string> arguments) const {
  return start(std::move(arguments))->wait();
}

nlohmann::json Precast::json(std::vector<std::string> arguments, int* code) const {
  // Behind "--" it would belong to somebody else.
  arguments.insert(arguments.begin(), "--json");
  const Ran ran = run(std::move(arguments));
  if (code != nullptr) *code = ran.code;
  nlohmann::json document = ran.json();
  if (document.contains("not_json")) ADD_FAILURE() << "stdout is not one JSON document: " << document.dump(2);
  return document;
}

std::unique_ptr<Running> Precast::start(std::vector<std::string> arguments) const {
  return std::make_unique<Running>(scratch(), "precast", std::move(arguments), env, working_directory);
}

std::vector<std::string> Precast::fake(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"--ep-library", "fake_ep=" + fake_ep_library().native()});
  arguments.insert(arguments.end(), {"--ep", "fake_ep"});
  return arguments;
}

std::vector<TraceLine> read_trace(const stdfs::path& file) {
  std::vector<TraceLine> lines;
  std::istringstream text(read_file(file));
  TraceLine line;
  while (text >> line.event >> line.pid >> line.ns) lines.push_back(line);
  return lines;
}

std::size_t count_events(const stdfs::path& file, std::string_view event) {
  std::size_t count = 0;
  for (const TraceLine& line : read_trace(file)) count += line.event == event ? 1 : 0;
  return count;
}

bool wait_for_event(const stdfs::path& file, std::string_view event, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    if (count_events(file, event) >= count) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

stdfs::path fake_ep_library() {
  return stdfs::path(PRECAST_BINARY_DIR) / "fake_ep" / "libprecast_fake_ep.so";
}

std::string read_file(const stdfs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const stdfs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

void flip_byte_keeping_times(const stdfs::path& file) {
  struct stat before{};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    const auto middle = static_cast<std::streamoff>(before.st_size / 2);
    stream.seekg(middle);
    const int byte = stream.get();
    stream.seekp(middle);
    stream.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(stream.good());
  }
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  ASSERT_EQ(::chmod(file.c_str(), before.st_mode & 07777U), 0);
}

}  // namespace precast::testing
