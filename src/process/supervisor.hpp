// What precast-worker is made of: a small supervisor that stays single-threaded and loads nothing, and the process that
// it forks for the work. The supervisor
//   - becomes a sub-reaper (PR_SET_CHILD_SUBREAPER), so that descendants which leave the group come back to it;
//   - watches the pipe from the parent: end-of-file means that the parent died or wants an end;
//   - when the work process ends (in any way) or the pipe closes, kills its own group's other members and every
//     descendant it can find (by walking /proc), reaps them, and exits.
// The work process dies with the supervisor (PR_SET_PDEATHSIG, SIGKILL), descendants of it need not. So a parent that
// wants an end closes the pipe, and kills the group only if the supervisor has not ended a few seconds later.
#pragma once

#include <functional>

namespace precast::process {

struct SupervisedExit {
  bool parent_gone = false;  // the pipe closed before the work ended
  int wait_status = 0;       // as waitpid gives it; meaningless if parent_gone
};

// Call from main before any thread and any other child exists. `pipe_from_parent` must stay open in the parent for as
// long as the work shall go on; the work process may read from it (the request), the supervisor only polls for hang-up.
// `work` runs in the forked process; its return value becomes that process's exit code (by _exit).
// `work` starts with default signal dispositions and an empty mask; it flushes what it wrote by stdio itself; an
// exception of it is SIGABRT. SIGTERM, SIGINT, SIGHUP and SIGQUIT to the supervisor count as parent_gone.
// Returns in the supervisor, after everything was killed and reaped, or after 5 s of trying (a process stuck in the
// kernel cannot be killed). Those signals and SIGCHLD stay blocked: all that is left to do is to report and exit.
// If the work cannot be started: one line on stderr, and a wait_status of exit code 71.
[[nodiscard]] SupervisedExit supervise(int pipe_from_parent, const std::function<int()>& work);

// Every live descendant of `pid` (children, their children, ...), by /proc; without `pid` itself. Each gets the signal
// once; those that appear meanwhile get it too. Reaps nothing.
void kill_descendants(int pid, int signal);

}  // namespace precast::process
