// The way of a miss: the key's exclusive lock, evidence again, look-up again, compile, evidence after, store.
#pragma once

#include "compile/compile_job.hpp"
#include "compile/resolver.hpp"

namespace precast::compile {

// What is known about a request before anything is compiled.
struct Known {
  identity::ModelEvidence model;
  Resolver::Libraries libraries;
  identity::Settings settings;
  identity::Identity identity;
};

class Miss {
 public:
  Miss(Resolver& resolver, const Request& request, const Observer& observer, identity::Digester& digester)
      : resolver_(resolver),
        services_(resolver.services()),
        request_(request),
        observer_(observer),
        digester_(digester) {}

  // `resolution` has what is known of the target and its timings so far. `stale` names a generation that must not be
  // served although its marker is current (the EP says that it should be compiled again).
  [[nodiscard]] Result<Resolution> run(Known known, Resolution resolution, const std::string& stale);
  // Compiles for this caller alone; nothing is looked up or kept.
  [[nodiscard]] Result<Resolution> run_private(const Known& known, Resolution resolution);
  // With Request::validate: the stored generation beside its source. One that computes something else is withdrawn, and
  // the source is the answer.
  [[nodiscard]] Result<Resolution> validate_hit(const Known& known, Resolution hit);

 private:
  // nullopt = the source or a library changed meanwhile: try again.
  [[nodiscard]] Result<std::optional<Resolution>> attempt(Known& known, Resolution& resolution,
                                                          const std::string& stale, bool last);
  [[nodiscard]] Result<std::optional<Resolution>> locked(Known& known, Resolution& resolution, const std::string& stale,
                                                         std::optional<WorkFolder> staged,
                                                         const std::filesystem::path& staged_model);
  [[nodiscard]] Result<std::optional<Resolution>> take_winner(const Known& known, Resolution& resolution,
                                                              const std::string& stale);
  [[nodiscard]] Result<std::optional<Resolution>> remembered_failure(const Known& known, Resolution& resolution);
  [[nodiscard]] Result<std::optional<Resolution>> keep(const Known& known, Resolution& resolution, WorkFolder folder,
                                                       const JobResult& job);
  [[nodiscard]] Result<Known> known_again(const Known& before);
  [[nodiscard]] Result<std::filesystem::path> model_for_worker(const Known& known, const WorkFolder& folder);
  [[nodiscard]] Result<std::filesystem::path> stage(const Known& known, const WorkFolder& folder);
  [[nodiscard]] std::optional<Error> difference_in_worker(const Known& known, const JobResult& job);
  [[nodiscard]] Result<Resolution> failed(const Known& known, Resolution& resolution, const JobResult& job,
                                          bool remember);
  void remember(const Known& known, const JobResult& job);
  [[nodiscard]] Result<WorkFolder> folder_for_validation();
  [[nodiscard]] fs::Lock::WaitOptions wait_options(Stage stage);
  void tell(Stage stage);

  Resolver& resolver_;
  const Services& services_;
  const Request& request_;
  const Observer& observer_;
  identity::Digester& digester_;
  std::optional<double> estimate_;
  std::optional<store::Marker> stored_;  // what this call put in the store
};

// Of the request's model, which is a file or in memory. `before`: the evidence taken earlier in this request.
[[nodiscard]] Result<identity::ModelEvidence> model_evidence(fs::FileSystem& fs, identity::Digester& digester,
                                                             const Request& request,
                                                             const identity::ModelEvidence* before);

// ORT's graph optimization level of the request's compile.
[[nodiscard]] int compile_level(const Request& request);

// What the identity is made of, and what the worker gets.
[[nodiscard]] identity::Settings make_settings(const Request& request, ort::Catalog& catalog, ort::Target target);

// The stored generation as the answer, with its lease.
void fill_from_hit(Resolution& resolution, store::Hit hit);

// The source model as the answer, because of `error`.
[[nodiscard]] Resolution answer_with_source(Resolution resolution, Outcome outcome, const std::filesystem::path& model,
                                            Error error);

}  // namespace precast::compile
