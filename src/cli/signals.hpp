// SIGINT, SIGTERM and SIGHUP: a thread of their own waits for them, so that nothing has to be async-signal-safe.
#pragma once

#include "cli/output.hpp"
#include "util/cancel.hpp"

namespace precast::cli {

// Before any other thread exists: blocks the signals and starts the thread. The first signal cancels `cancel`; the
// program then has 3 s to end its workers and clean up, after which (or at a second signal) it ends with 130.
void handle_signals(Output& output, util::CancelToken& cancel);

// While set, SIGINT cancels this token instead (once; then it is as ever). Null takes it back.
void interrupt_instead(util::CancelToken* token);

// The first signal leaves as much time to end as it takes; a second one ends the program.
void end_without_haste();

// Unblocks the signals, for becoming another program.
void restore_signals();

// From here on signals wait for pass_signals_to(): a program that is being started must not miss one.
void hold_signals();

// While `pid` is not 0 these signals, and SIGQUIT, SIGUSR1 and SIGUSR2, are passed on to it instead, unless they come
// from the terminal, which gives them to `pid` itself.
void pass_signals_to(int pid);

// Ends this process by that signal, as the program that it stood for did, without a core file of its own.
[[noreturn]] void end_by_signal(int signal);

}  // namespace precast::cli
