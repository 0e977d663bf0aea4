// One posix_spawn call: what the new process gets and what it shall not get. posix_spawn rather than fork, because it
// costs the same however large the calling process is, and is safe with other threads.
#pragma once

#include <string>
#include <vector>

#include <spawn.h>

#include "precast/error.hpp"
#include "process/child.hpp"
#include "process/descriptor_posix.hpp"

namespace precast::process {

// prepare(), then start(), once each; `options` must outlive the plan.
class SpawnPlan {
 public:
  SpawnPlan();
  ~SpawnPlan();
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  [[nodiscard]] Result<void> prepare(const SpawnOptions& options);
  [[nodiscard]] Result<int> start();               // the pid
  [[nodiscard]] std::string program_name() const;  // quoted, for messages

 private:
  [[nodiscard]] Result<void> check() const;
  [[nodiscard]] Result<void> plan_descriptors();
  [[nodiscard]] Result<void> plan_attributes();
  [[nodiscard]] std::unexpected<Error> explain(int error) const;

  const SpawnOptions* options_ = nullptr;
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  std::vector<Descriptor> sources_;
  std::vector<std::string> words_;        // argv, as text of our own
  std::vector<std::string> environment_;  // NAME=value
};

}  // namespace precast::process
