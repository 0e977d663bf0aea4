// What ORT's profile says about operators.
//
//   PRECAST_TRY_ASSIGN(const OpTrace trace, read_op_trace(profile, warmups));
//   for (const OpTime& op : trace.by_type | std::views::take(10)) fmt::print("{} {} ms\n", op.op_type, op.total_ms);
//
// Times are those of ORT's kernel events, each without the kernels that ran inside it on its thread: an If, Loop or
// Scan counts for what it does itself, and its body's nodes for themselves, so that shares add up to 100 % and no time
// counts twice. (On other threads - the parallel executor's - a body's time is in both.) Microseconds are the finest
// that ORT writes: of operators shorter than that, times are too low by up to one for each event.
//
// Free-threaded for what is read; one event at a time is in memory, and one row per node.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "precast/error.hpp"

namespace precast::bench {

// The op_type of what an EP compiled of a part of the graph, whatever name ORT made up for it, one with the model's
// hash in it that would be another after each compile. Its node says which part.
inline constexpr std::string_view kCompiledPart = "compiled part";

struct OpTime {
  std::string op_type;      // "MatMul"; kCompiledPart; empty: the profile does not say
  std::string node;         // the model's name for it, or "<op_type>_<index>" where it has none; empty in by_type
  std::string provider;     // "CPUExecutionProvider"; empty: the profile does not say
  std::uint64_t count = 0;  // of events: runs of a node, which a loop multiplies
  double total_ms = 0;
  double mean_ms = 0;
  std::optional<double> share_pct;  // of the total; nullopt where that is 0
};

struct ProviderTime {
  std::string provider;
  std::uint64_t count = 0;
  double total_ms = 0;
  std::optional<double> share_pct;
};

// Every list has the largest total first; equal ones by op_type, node, provider.
struct OpTrace {
  std::vector<OpTime> by_type;  // by op_type and provider
  std::vector<OpTime> by_node;  // by op_type, node and provider: nodes of one name in two subgraphs are one row
  std::vector<ProviderTime> by_provider;
  double total_ms = 0;     // of them all
  std::uint64_t runs = 0;  // of the session, those that were skipped left out

  // What EPs tell of the inside of what they compiled (OpenVINO does, QNN does not): a second look at time that is in
  // the lists above already, with the nodes of the EP's own graph and by its own reckoning. It need not add up to the
  // part's time: OpenVINO's CPU device gives for each run the node's average over all runs so far, slow first ones
  // included, which skip_runs cannot take out. Good for what is large and what is small, not for how long it took.
  std::vector<OpTime> inside_by_type;
  std::vector<OpTime> inside_by_node;
  double inside_total_ms = 0;  // shares in the two are of this

  std::uint64_t without_time = 0;    // kernel events left out, for they have no duration or a negative one
  std::uint64_t dropped_events = 0;  // by ORT, which keeps the first million of a session: nothing is known of the rest
};

// `skip_runs`: the first so many runs of the session, and what was before them, are left out (warm-ups). Runs at the
// same time: what ended before the last of the skipped ones is left out.
//
// Errors: not_found (no such file); io; bad_input (not a regular file; no kernel is left after the skipped runs);
// corrupt (not JSON, cut off, not a list of events, no kernel in it at all). Each names the file.
[[nodiscard]] Result<OpTrace> read_op_trace(const std::filesystem::path& profile, std::uint64_t skip_runs = 0);

}  // namespace precast::bench
