// EPs as ORT sees them: registering plugin libraries (once per process and name), asking for devices, choosing a
// target. Registration is lazy: only the EPs that a request concerns are registered. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ort/runtime.hpp"
#include "ort/target.hpp"

namespace precast::ort {

class Catalog {
 public:
  Catalog(std::shared_ptr<Runtime> runtime, std::vector<FoundEp> found);

  [[nodiscard]] const std::vector<FoundEp>& found() const { return found_; }
  [[nodiscard]] Runtime& runtime() { return *runtime_; }

  // Registers the library when that has not happened (QNN under exactly "QNNExecutionProvider"; every EP under its
  // canonical name) and describes it. A library that ORT refuses: ep_unavailable with ORT's words.
  // Cost: OpenVINO 11-27 ms, QNN 0.4 ms. A second source of an already registered name is refused (busy).
  [[nodiscard]] Result<EpDescription> describe(const FoundEp& ep);

  // Everything from the request to the bound target: EP chosen (by name, by device class, or by the preference table),
  // registered, options made effective, device bound.
  [[nodiscard]] Result<Target> choose(fs::FileSystem& fs, const TargetRequest& request,
                                      const std::vector<std::string>& extra_file_options);

  // The OrtEpDevice of a bound target, for session options.
  [[nodiscard]] Result<Ort::ConstEpDevice> device_of(const Target& target);

 private:
  std::shared_ptr<Runtime> runtime_;
  std::vector<FoundEp> found_;
  std::mutex mutex_;
  std::vector<FoundEp> registered_;
};

}  // namespace precast::ort
