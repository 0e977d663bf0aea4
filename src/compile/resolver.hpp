// From a model to one that loads: look up, or compile in a worker, check, and put in the store.
//
// Never wrong: an answer is a hit only if everything that went into the compile is provably the same and the stored
// bytes are the ones that were compiled. Never in the way: where the cache cannot work, the source model is the answer
// (Outcome::uncached) with its reason. Errors are for bad input, missing EPs and cancellation.
//
// Thread-safe: several models may be resolved at once.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "compile/resolution.hpp"
#include "identity/identity.hpp"

namespace precast::compile {

struct Services {
  fs::FileSystem& file_system;
  // Loads ORT and finds the EPs at the first call; called only once the model has been read and found good.
  std::function<Result<ort::Catalog*>()> catalog;
  store::Store* store = nullptr;  // null: the cache cannot work, and why:
  std::string store_problem;
  std::filesystem::path worker;  // option; empty = PRECAST_WORKER, beside the executable, libexec
  const util::CancelToken* cancel = nullptr;
  bool allow_telemetry = false;
};

class Resolver {
 public:
  explicit Resolver(Services services);

  [[nodiscard]] Result<Resolution> resolve(const Request& request, const Observer& observer = {});

  // The model itself, on the target asked for: nothing is looked up or compiled in advance, and the EP may compile it
  // while it is opened. Outcome::precompiled, or uncached without an error.
  [[nodiscard]] Result<Resolution> original(const Request& request, const Observer& observer = {});

  // What to use instead of the stored generation `refused`, which ORT did not open for the reason `why`. If its bytes
  // are the stored ones and a worker opens it with the identity's options alone, the store is not at fault (a bad
  // run-time option, say): the error is `why`, and nothing is touched. Else the entry goes and is made anew, once: with
  // `earlier`, the refusal before, both are remembered as a failure and the source is the answer.
  [[nodiscard]] Result<Resolution> after_refusal(const Request& request, Resolution refused, const Error& why,
                                                 const std::optional<Error>& earlier, const Observer& observer = {});

  [[nodiscard]] const Services& services() const { return services_; }

  // Evidence of the libraries of a target; a difference from what this process saw first makes it uncacheable.
  struct Libraries {
    std::vector<identity::FileEvidence> files;
    bool replaced = false;  // since this process loaded them
  };
  [[nodiscard]] Result<Libraries> library_evidence(identity::Digester& digester, const identity::Settings& settings);

 private:
  [[nodiscard]] Result<Resolution> answer(const Request& request, const Observer& observer);
  Services services_;
  std::mutex mutex_;
  std::map<std::string, std::vector<identity::FileEvidence>> first_seen_;
};

}  // namespace precast::compile
