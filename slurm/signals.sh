# shellcheck shell=bash disable=SC2154,SC2034
# Sourced by job.sh: handles signals to the job while the ranks run.

# Number of signals that ask the run to end, and how many of them `pass_signals` has handled.
signals=0
passed=0

# takes_signals PID: whether the process has a handler for SIGUSR1. False for a shell that has yet to execute
# the program, because the shell may have a handler of its own.
takes_signals() {
  local caught
  ! [[ /proc/$1/exe -ef /proc/$$/exe ]] || return 1
  caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null) || return 1
  ((0x${caught:-0} >> ($(kill -l USR1) - 1) & 1))
}

# end_run: sends SIGUSR1 to the supervisor, or to rank 0, which tells the other ranks. It waits until the
# receiver has a handler, because before that the signal would kill it. srun and mpirun do not get the signal:
# they would send it to all ranks, and mpirun may hang if that kills a rank that is starting.
end_run() {
  local receiver
  while kill -0 "$process" 2> /dev/null; do
    receiver=$supervisor
    test -n "$receiver" || read -r receiver < "$started" || receiver=
    if [[ -n $receiver ]] && takes_signals "$receiver"; then
      kill -USR1 "$receiver" 2> /dev/null || true
      return
    fi
    sleep 0.1
  done
}

# pass_signals: calls end_run once for each signal that is not handled yet, if there is a run.
pass_signals() {
  while [[ -n $process ]] && ((passed < signals && ++passed)); do
    end_run &
  done
}

# ask_to_end: one more signal asks the run to end.
ask_to_end() {
  signals=$((signals + 1))
  pass_signals
}

# hurry SECONDS: ends a batch at once if it is still running after this many seconds. A pass of a model may take
# longer than the rest of the job's time, and Slurm does not queue a job again that has reached its time limit.
hurry() {
  local second
  for ((second = 0; second < $1; ++second)); do
    kill -0 "$process" 2> /dev/null || return 0
    sleep 1
  done
  end_run
}

# on_usr1: Slurm sends SIGUSR1 before the time limit (--signal), and users may send it at any time.
on_usr1() {
  local left
  trapped=yes
  reason=SIGUSR1
  ask_to_end # First, because Slurm may answer slowly.
  # The signal may come up to a minute earlier than --signal says.
  left=$(($(date -d "$(job_field EndTime)" +%s 2> /dev/null || echo 0) - $(date +%s)))
  if ((left > 0 && left <= 180)); then
    reason="the time limit of $(job_field TimeLimit) is over in $left s"
    if [[ -z $supervisor && -n $process ]]; then
      hurry $((left - 15)) &
    fi
  fi
  say "$reason"
}

# on_term: if Slurm ends the job, it sends SIGTERM to all processes. A second signal to them would end them at
# once.
on_term() {
  local state
  trapped=yes
  reason=SIGTERM
  state=$(job_field JobState)
  if [[ $state == RUNNING ]]; then
    ask_to_end
  elif [[ -n $state ]]; then
    if [[ $(job_field Reason) == TimeLimit ]]; then
      reason="the time limit of $(job_field TimeLimit) is over"
    elif is_queued_again; then
      reason='Slurm queues the job again'
    else
      reason='the job was cancelled'
    fi
  fi
  say "$reason"
}

trap on_usr1 USR1
trap on_term TERM
