// The whole of the program precast-worker: one request, then exit.
#pragma once

namespace precast::compile {

// Call from main before any thread exists. Returns the exit code; or ends by the signal that ended the work process, so
// that the parent sees the true cause.
[[nodiscard]] int worker_main(int argument_count, char** arguments);

}  // namespace precast::compile
