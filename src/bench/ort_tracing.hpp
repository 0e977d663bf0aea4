// A few runs of a session with ORT's profiling on.
#pragma once

#include "bench/op_trace.hpp"
#include "session/prepared_session.hpp"
#include "tensor/tensor.hpp"
#include "util/cancel.hpp"

namespace precast::bench {

// Opens the model of `session` once more, with profiling, for it would slow down every run that is measured; runs it
// some ten times, and reads what ORT wrote. Nothing may refer to the native session meanwhile. Errors: those of opening
// and running it; of read_op_trace; io (no temporary folder).
[[nodiscard]] Result<OpTrace> trace_operators(ort::Catalog& catalog, session::PreparedSession& session,
                                              const ort::SessionSettings& settings, tensor::Tensors& inputs,
                                              const util::CancelToken& cancel);

}  // namespace precast::bench
