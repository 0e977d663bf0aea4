// An ORT session on what the compile cache answered. It holds the lease, so the generation lives as long as the
// session. One thread at a time, as Ort::Session's creation; Run may be called from several threads as ORT allows.
#pragma once

#include <memory>
#include <optional>

#include "compile/resolver.hpp"
#include "ort/session_call.hpp"
#include "precast/error.hpp"

namespace precast::session {

class PreparedSession {
 public:
  // A compiled model is opened with session.disable_model_compile=1 and an absolute ep.context_file_path: ORT refuses
  // rather than compile anything. The source model (fallback) is opened as ORT does, and the EP may compile at load; on
  // ORT's CPU EP if that EP crashed or hung on it, or does not open it, unless session.disable_cpu_ep_fallback or
  // Request::forbid_cpu_instead forbids that. resolution() then says so in its target and its reason.
  // EP-internal caches are dropped. Of a stored model that ORT refuses: Resolver::after_refusal says what is opened
  // instead (made anew, or the source).
  // `want_node_counts`: provider_nodes() is asked for; it costs verbose logging while ORT opens the model.
  [[nodiscard]] static Result<PreparedSession> open(compile::Resolver& resolver, const compile::Request& request,
                                                    compile::Resolution resolution,
                                                    const compile::Observer& observer = {},
                                                    bool want_node_counts = false);

  // The same model again with other settings. The native session goes first: two are never alive at once. After an
  // error there is none, and reopen() may be called again.
  [[nodiscard]] Result<void> reopen(ort::Catalog& catalog, const ort::SessionSettings& settings);

  [[nodiscard]] bool is_open() const { return static_cast<const OrtSession*>(opened_.session) != nullptr; }
  [[nodiscard]] Ort::Session& native() { return opened_.session; }
  [[nodiscard]] const compile::Resolution& resolution() const { return resolution_; }
  // How many nodes each EP got; empty = not known.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& provider_nodes() const { return provider_nodes_; }
  // The first error, else warning, that was logged while ORT opened it; or empty.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] double open_ms() const { return open_ms_; }
  // What deletes a private generation, for a caller that never destroys the session (EPs crash while unloading).
  struct PrivateOwner {
    std::shared_ptr<compile::WorkFolder> folder;
    std::shared_ptr<store::Orphan> orphan;
  };
  [[nodiscard]] PrivateOwner take_private_owner() {
    return {std::move(resolution_.private_owner), std::move(resolution_.orphan)};
  }

 private:
  PreparedSession() = default;
  compile::Resolution resolution_;              // declared first: the lease goes after the session
  std::optional<compile::MemoryModel> memory_;  // the source, for reopening
  ort::OpenedSession opened_;
  std::map<std::string, std::uint64_t> provider_nodes_;  // when it was opened first
  std::string complaint_;
  double open_ms_ = 0;
};

}  // namespace precast::session
