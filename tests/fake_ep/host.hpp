// A small host of ONNX Runtime, run as a child process so that every test has a process of its own to lose:
//   fake_ep_test --host STEP...
// Steps, in order; what they find goes to stdout, one line each:
//   option=K=V              provider option of the sessions that follow
//   fallback                let the CPU EP take what the fake EP leaves (forbidden otherwise)
//   no_compile              sessions that follow set session.disable_model_compile
//   compile=IN,OUT,embedded|external
//   run=MODEL, cpu=MODEL    "output <values>", on the fake EP or on ORT's CPU EP
//   devices                 "device <metadata>" per device
//   verdict=STRING          "verdict <number>"
//   threads=N,MODEL         N sessions on N threads at once
//   unregister              "mapped" or "unmapped": whether the library is still in the process
// The first step that ORT refuses ends the process: "error <code> <message>" on stderr, status 100 + code.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace precast::fake_ep::test {

int host_main(const std::vector<std::string>& steps);

struct Ended {
  int exit_status = -1;  // -1: killed by a signal
  int signal = 0;
  std::string output;
  std::string errors;
};

using Variables = std::map<std::string, std::string>;

// Runs a host with these variables and no others of the name FAKE_EP_*. A host that does not end is killed after a
// minute.
Ended run_host(const std::vector<std::string>& steps, const Variables& variables = {});

// Runs a host until its trace (in the variables) says "hang", then sends SIGTERM, and SIGKILL if that does not end it.
Ended run_hanging_host(const std::vector<std::string>& steps, const Variables& variables);

// The numbers of the n-th "output" line.
std::vector<float> outputs(const Ended& host, std::size_t n = 0);

// The trace's lines, first word only.
std::vector<std::string> events(const std::filesystem::path& trace);

}  // namespace precast::fake_ep::test
