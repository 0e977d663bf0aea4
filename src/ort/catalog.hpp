// EPs as ORT sees them: registering plugin libraries (once per process and name), asking for devices, choosing a
// target. Registration is lazy: only the EPs that a request concerns are registered. Thread-safe.
#pragma once

#include <memory>
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
  // An EP without a device here is described all the same, with no devices.
  [[nodiscard]] Result<EpDescription> describe(const FoundEp& ep);

  // Everything from the request to the bound target: EP chosen (by name, by device class, or by the preference table),
  // registered, options made effective, device bound. Asked for by name and not found, not loadable or without a
  // fitting device: ep_unavailable. Any EP: the first preference that binds (the CPU EP at the latest, unless a device
  // class is asked for that nothing here has).
  [[nodiscard]] Result<Target> choose(fs::FileSystem& fs, const TargetRequest& request,
                                      const std::vector<std::string>& extra_file_options);

  // The OrtEpDevice of a bound target, for session options.
  [[nodiscard]] Result<Ort::ConstEpDevice> device_of(const Target& target);

 private:
  [[nodiscard]] Result<Target> choose_named(fs::FileSystem& fs, const TargetRequest& request,
                                            const std::vector<std::string>& extra_file_options);
  [[nodiscard]] Result<Target> choose_any(fs::FileSystem& fs, const TargetRequest& request,
                                          const std::vector<std::string>& extra_file_options);
  std::shared_ptr<Runtime> runtime_;
  std::vector<FoundEp> found_;
};

}  // namespace precast::ort
