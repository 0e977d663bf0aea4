#include "cli/perf_targets.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/report_file.hpp"
#include "identity/links.hpp"
#include "ort/ep_table.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

constexpr const char* kCompileTimeout = "30m";

struct Choice {
  std::string ep;
  std::string device;
};

// Without its source: "openvino" of "openvino@pypi".
std::string plain_name(const std::string& ep) {
  return util::ascii_lower(ep.substr(0, ep.find('@')));
}

bool same_ep(const std::string& left, const std::string& right) {
  const ort::EpSpec* const spec = ort::find_ep(plain_name(left));
  return spec != nullptr ? spec == ort::find_ep(plain_name(right)) : plain_name(left) == plain_name(right);
}

bool is_cpu_ep(const std::string& ep) {
  return same_ep(ep, "cpu");
}

Result<CompileOptions> compile_options(const PerfOptions& options) {
  CompileOptions compile = options.model;
  compile.ep = options.bundle.ep.empty() ? "auto" : options.bundle.ep;
  if (compile.ep.find(',') != std::string::npos) {
    return fail(ErrorCode::bad_input, "--ep " + util::quoted(compile.ep) + " names more than one EP", {},
                "measure them beside each other with --compare-ep " + compile.ep);
  }
  compile.device = options.device_given ? util::ascii_lower(options.bundle.device) : "auto";
  if (compile.device == "config" || compile.device == "mixed") {
    return fail(ErrorCode::bad_input,
                "--device " + compile.device + " is for bundles: a model has no routing of its own", {},
                "use auto, cpu, gpu or npu");
  }
  compile.embed = options.bundle.embed;
  compile.compile_timeout = options.compile_timeout_given ? options.bundle.compile_timeout : kCompileTimeout;
  compile.lock_timeout = options.bundle.lock_timeout;
  compile.rebuild = options.bundle.rebuild;
  compile.no_cache = options.bundle.no_cache;
  compile.retry_failed = options.bundle.retry_failed;
  return compile;
}

std::vector<Choice> choices(const PerfOptions& options, const CompileOptions& compile) {
  std::vector<Choice> all;
  if (!options.compare_eps.empty()) {
    if (options.ep_given) all.push_back({compile.ep, compile.device});
    for (const std::string& ep : options.compare_eps) all.push_back({ep, compile.device});
  } else if (!options.compare_devices.empty()) {
    if (options.device_given) all.push_back({compile.ep, compile.device});
    for (const std::string& device : options.compare_devices) all.push_back({compile.ep, util::ascii_lower(device)});
  } else {
    all.push_back({compile.ep, compile.device});
  }
  return all;
}

// "openvino/npu"; a second one of the same name has a number, for a comparison with itself shows what is noise.
std::string name_of(const Choice& choice, const std::vector<bench::OrtTarget>& before) {
  std::string name = util::escape_to_line(choice.ep);
  if (choice.device != "auto") name += "/" + choice.device;
  std::string unique = name;
  for (int number = 2; std::ranges::find(before, unique, &bench::OrtTarget::name) != before.end(); ++number) {
    unique = fmt::format("{} #{}", name, number);
  }
  return unique;
}

// "qnn" of "qnn:soc_model=60", where that is an EP's name or one that was asked for; else empty: the key has a colon.
std::string name_in(const std::string& option, const std::vector<Choice>& all) {
  const std::size_t colon = option.substr(0, option.find('=')).find(':');
  if (colon == std::string::npos) return {};
  const std::string name = option.substr(0, colon);
  const bool asked_for = std::ranges::any_of(all, [&](const Choice& choice) { return same_ep(choice.ep, name); });
  return asked_for || ort::find_ep(name) != nullptr ? name : "";
}

Result<void> check_names(const std::vector<std::string>& given, const std::vector<Choice>& all) {
  for (const std::string& text : given) {
    const std::string name = name_in(text, all);
    const auto is_meant = [&](const Choice& choice) { return same_ep(choice.ep, name); };
    if (name.empty() || std::ranges::any_of(all, is_meant)) continue;
    return fail(ErrorCode::bad_input,
                "--ep-options " + util::quoted(text) + " is for " + util::quoted(name) + ", which is not measured", {},
                "name that EP with --ep or --compare-ep, or leave its name out of the option");
  }
  return {};
}

// What has a name is for that EP alone; what has none is for the only one, or for all of several but the CPU EP, which
// takes none.
std::vector<std::string> options_for(const std::string& ep, const std::vector<std::string>& given,
                                     const std::vector<Choice>& all) {
  std::vector<std::string> own;
  for (const std::string& text : given) {
    const std::string name = name_in(text, all);
    if (!name.empty() && same_ep(ep, name)) own.push_back(text.substr(name.size() + 1));
    if (name.empty() && (all.size() == 1 || !is_cpu_ep(ep))) own.push_back(text);
  }
  return own;
}

bench::OrtBenchmarkInfo info_of(const PerfOptions& options, const CompileOptions& compile,
                                const compile::Request& request) {
  bench::OrtBenchmarkInfo info;
  info.model_id = bench::path_component(std::filesystem::path(options.bundle.bundle).stem().native());
  info.model_path = util::escape_invalid_utf8(identity::logical_absolute(options.bundle.bundle).native());
  info.session_options = request.session.config_entries;
  info.requested_ep = util::escape_invalid_utf8(compile.ep);
  info.requested_device = compile.device;
  info.compile = options.bundle.compile;
  info.compile_timeout_s = static_cast<std::uint64_t>(request.compile_timeout.count() / 1000);
  info.monitor = options.monitor;
  info.batch_size = options.input.batch;
  info.concurrency = options.concurrency;
  info.io_binding = options.io_binding;
  info.seed = options.input.seed;
  if (!options.input.data.empty()) info.input_data = util::escape_invalid_utf8(options.input.data);
  return info;
}

}  // namespace

Result<std::vector<bench::OrtTarget>> make_targets(const PerfOptions& options, const GlobalOptions& globals) {
  PRECAST_TRY_ASSIGN(CompileOptions compile, compile_options(options));
  const bool comparing = !options.compare_eps.empty() || !options.compare_devices.empty();
  const std::vector<Choice> all = choices(options, compile);
  if (comparing && all.size() < 2) {
    const bool eps = !options.compare_eps.empty();
    return fail(ErrorCode::bad_input,
                std::string(eps ? "--compare-ep" : "--compare-devices") + " names only one target", {},
                eps ? "name two: --compare-ep cpu,openvino" : "name two: --compare-devices cpu,npu");
  }
  const std::vector<std::string> ep_options = compile.ep_options;
  PRECAST_TRY(check_names(ep_options, all));
  std::vector<bench::OrtTarget> targets;
  for (const Choice& choice : all) {
    compile.ep = choice.ep;
    compile.device = choice.device;
    compile.ep_options = options_for(choice.ep, ep_options, all);
    if (is_cpu_ep(choice.ep) && !compile.ep_options.empty()) {
      return fail(ErrorCode::bad_input,
                  "ONNX Runtime's CPU EP takes no --ep-options: " + util::quoted(compile.ep_options.front()), {},
                  "leave it out; --session-options are for every EP");
    }
    PRECAST_TRY_ASSIGN(auto request, make_request(compile, globals));
    request.model = options.bundle.bundle;
    request.accept_private = true;
    request.forbid_cpu_instead = true;
    bench::OrtBenchmarkInfo info = info_of(options, compile, request);
    std::string name = name_of(choice, targets);
    targets.push_back({std::move(name), std::move(request), std::move(info)});
  }
  return targets;
}

}  // namespace precast::cli
