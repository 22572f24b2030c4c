# shellcheck shell=bash disable=SC2154,SC2034
# Sourced by the job scripts of this directory, which set `repository` and `arguments`, and `reason`, which
# says what has ended the run, if that is a signal to the job. These variables of the environment of sbatch
# count:
#
#   SCORECAST        the executable; default: build/release/scorecast of the repository
#   RANKS_PER_NODE   default: one rank for each NUMA node of the first host
#   MPI              who starts the ranks: a name that `srun --mpi=list` prints, or mpirun. Default:
#                    $SLURM_MPI_TYPE, otherwise pmix; mpirun if srun does not have it
#   MAX_REQUEUES     how often the job is queued again before it gives up; default: 10
set -eu

# scontrol takes the number of an array's last task for the whole array, unless it has this form.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
job=${job:-$SLURM_JOB_ID}
requeues=${SLURM_RESTART_COUNT:-0}
max_requeues=${MAX_REQUEUES:-10}
scorecast=${SCORECAST:-$repository/build/release/scorecast}

# The same job may succeed after these exit codes: a rank or a host was lost (70, 137, 143, 205; 16 or 17 if
# Open MPI notices it first), ranks did not end (72), the run was interrupted or stuck (75).
# docs/operations.md lists all codes.
requeue_codes=' 16 17 70 72 75 137 143 205 '

# Copies of the job scripts may not set it.
: "${reason:=}"
# The process that the script waits for: srun, mpirun, or the supervisor of a service.
process=
supervisor=
# How many signals are to end the run, and how many of them `pass_signals` has taken care of.
signals=0
passed=0

# say TEXT: prints a line of the job's output.
say() { echo "$(date '+%F %T') job $job: $1" >&2; }

# fail TEXT: ends the job because of a fault that another start would meet again.
fail() {
  say "failed: $1"
  exit 1
}

# expect_arguments COUNT SYNOPSIS
expect_arguments() {
  ((${#arguments[@]} >= $1)) || fail "arguments are missing: sbatch $2"
}

# has_flag FLAG: whether the arguments have it. scorecast takes a flag once only.
has_flag() { [[ " ${arguments[*]} " == *" $1"[\ =]* ]]; }

# times COUNT: prints "once" or "N times".
times() { (($1 == 1)) && echo once || echo "$1 times"; }

# job_field NAME: prints a field of the job; nothing if Slurm does not answer. It asks again because Slurm's
# signals to all processes of the job also end a scontrol.
job_field() {
  local field
  for _ in 1 2 3; do
    field=$(timeout 10 scontrol -o show job "$job" 2> /dev/null | sed -n "s/.* $1=\([^ ]*\).*/\1/p") || true
    test -z "$field" || break
    sleep 0.2 || true
  done
  echo "$field"
}

# Rank 0, which runs on this host, writes its process id to it when it starts.
started=$(mktemp)
trap 'rm -f "$started"' EXIT

# plan: decides how many ranks run and who starts them. Sets the array `launcher`.
plan() {
  if ((requeues > max_requeues)); then
    fail "it was queued again $(times "$requeues"), and MAX_REQUEUES is $max_requeues"
  fi
  test -x "$scorecast" || fail "no executable $scorecast on $(hostname -s): build it, or set SCORECAST"

  # SLURM_JOB_CPUS_PER_NODE is "4(x2),8" for two nodes with 4 CPUs and one with 8. All ranks get the same
  # number, so that of the smallest node counts.
  local cpus numa_nodes
  cpus=$(tr ',' '\n' <<< "$SLURM_JOB_CPUS_PER_NODE" | sed 's/(.*//' | sort -n | head -n 1)
  numa_nodes=$(cat /sys/devices/system/node/node[0-9]*/cpulist 2> /dev/null | grep -c '[0-9]') ||
    numa_nodes=1
  local nodes=$SLURM_JOB_NUM_NODES
  local per_node=${RANKS_PER_NODE:-$((numa_nodes < cpus ? numa_nodes : cpus))}
  local cpus_per_rank=$((cpus / per_node))
  if ((cpus_per_rank < 1)); then
    fail "RANKS_PER_NODE is $per_node, but the job has only $cpus CPU$( ((cpus == 1)) || echo s) on a node"
  fi

  local rank mpi=${MPI:-${SLURM_MPI_TYPE:-pmix}}
  if [[ $mpi != mpirun ]] && ! srun --mpi=list 2>&1 | tr -s ' ,:\t' '\n' | grep -qxF -- "$mpi"; then
    say "srun has no --mpi=$mpi, so mpirun starts the ranks"
    mpi=mpirun
  fi
  if [[ $mpi == mpirun ]]; then
    command -v mpirun > /dev/null || fail "mpirun is not installed on $(hostname -s)"
    launcher=(mpirun -n "$((nodes * per_node))")
    if ((per_node > 1 && per_node == numa_nodes)); then
      launcher+=(--map-by ppr:1:numa --bind-to numa)
    else
      launcher+=(--map-by "ppr:$per_node:node" --bind-to none)
    fi
    rank=OMPI_COMM_WORLD_RANK
    # mpirun starts its daemons by srun. Their binding is that of the ranks, so they get none.
    export SLURM_CPU_BIND=none
  else
    # The ranks of a node get consecutive cores, so that each has a NUMA node of its own. --overlap, because
    # an earlier step whose node is lost does not end, and would keep the CPUs.
    launcher=(srun "--mpi=$mpi" --kill-on-bad-exit=1 --overlap "--nodes=$nodes"
      "--ntasks=$((nodes * per_node))" "--ntasks-per-node=$per_node" "--cpus-per-task=$cpus_per_rank"
      --distribution=block:block --cpu-bind=cores)
    rank=SLURM_PROCID
    mpi="srun --mpi=$mpi"
  fi
  # `exec` keeps the process id.
  # shellcheck disable=SC2016
  launcher+=(bash -c 'test "${!0}" != 0 || echo $$ > "$1"; exec "${@:2}"' "$rank" "$started")
  # The variable replaces Open MPI's list of files, so it names the user's and the system's, too.
  local user_file=${HOME:-}/.openmpi/mca-params.conf own_file=$repository/launcher/openmpi-mca-params.conf
  export OMPI_MCA_mca_base_param_files="${OMPI_MCA_mca_base_param_files:-$user_file,$own_file,\
/etc/openmpi/openmpi-mca-params.conf}"
  local again=
  ((requeues == 0)) || again=" (requeue $requeues of $max_requeues)"
  say "starts$again on $SLURM_JOB_NODELIST: ranks on each node: $per_node, CPUs of each rank: \
$cpus_per_rank, started by $mpi"
}

# check_nodes MODEL: ends the job if a node cannot read the executable or the model, and names the node.
check_nodes() {
  local missing result=0
  # shellcheck disable=SC2016
  missing=$(timeout 120 srun --mpi=none --overlap "--nodes=$SLURM_JOB_NUM_NODES" \
    "--ntasks=$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --cpu-bind=none bash -c '
      test -x "$1" || echo "no executable $1 on $SLURMD_NODENAME"
      test -r "$2/config.json" || echo "no model $2 on $SLURMD_NODENAME: config.json cannot be read"
      ' check "$scorecast" "$1") || result=$?
  if [[ -n $missing ]]; then
    fail "$(paste -sd ';' <<< "$missing" | sed 's/;/; /g')"
  elif ((result != 0)) && [[ -z $reason ]]; then
    end_fault 70 'a node of the job starts no processes'
  fi
}

# run COMMAND...: runs the command, which starts the ranks, and passes signals on. Sets `status` to its exit
# code. If a signal came before the ranks were started, a batch can go on (75), and a service is done.
run() {
  local try trapped not_started=75
  test "$1" != "$scorecast" || not_started=0
  for try in 1 2 3 4 5; do
    status=$not_started
    test -z "$reason" || return 0
    : > "$started"
    "$@" &
    process=$!
    test "$1" != "$scorecast" || supervisor=$process
    pass_signals # One may have come before `process` was set.
    while :; do
      trapped=
      status=0
      wait "$process" || status=$?
      test -n "$trapped" || break # Otherwise a signal has ended `wait`.
    done
    process=
    # The program cannot be executed, now or later.
    ((status != 126 && status != 127)) || return 0
    if [[ -n $reason && ! -s $started ]]; then
      status=$not_started
    fi
    if [[ ${launcher[0]} == mpirun || -s $started || -n $reason ]]; then
      return
    fi
    # A node that was lost may have files of a step with the same number, and keeps srun from starting one.
    # srun may end with 0 nevertheless. The next step has another number.
    say "srun has started no rank (try $try of 5)"
    sleep 3
  done
  status=70
}

# takes_signals PID: whether the process has a handler for SIGUSR1. A shell may have one of its own until it
# executes the program.
takes_signals() {
  local caught
  ! [[ /proc/$1/exe -ef /proc/$$/exe ]] || return 1
  caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null) || return 1
  ((0x${caught:-0} >> ($(kill -l USR1) - 1) & 1))
}

# end_run: sends SIGUSR1 to the supervisor, or to rank 0, which tells the other ranks, as soon as it has a
# handler. Before, the signal would kill it. srun and mpirun get none, because they would send it to all
# ranks, and mpirun may hang if that kills a rank that is starting.
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

# pass_signals: ends the run, if there is one, once for each signal that asks for it.
pass_signals() {
  while [[ -n $process ]] && ((passed < signals && ++passed)); do
    end_run &
  done
}

# hurry SECONDS: ends a batch at once if it runs on for so many seconds. A model may compute a pass for longer
# than is left of the job's time, and Slurm queues no job again that its time limit has ended.
hurry() {
  local second
  for ((second = 0; second < $1; ++second)); do
    kill -0 "$process" 2> /dev/null || return 0
    sleep 1
  done
  end_run
}

# interrupted SIGNAL: says why the job was signalled, and ends the run.
interrupted() {
  local state left
  trapped=yes
  reason="SIG$1"
  if [[ $1 == USR1 ]]; then
    # First, because Slurm may answer slowly.
    signals=$((signals + 1))
    pass_signals
    # --signal sends it before the time limit, up to a minute earlier than it says.
    left=$(($(date -d "$(job_field EndTime)" +%s 2> /dev/null || echo 0) - $(date +%s)))
    if ((left > 0 && left <= 180)); then
      reason="the time limit of $(job_field TimeLimit) is over in $left s"
      if [[ -z $supervisor && -n $process ]]; then
        hurry $((left - 15)) &
      fi
    fi
    say "$reason"
    return 0 # In a trap, "return" alone gives the status of the command before it.
  fi
  state=$(job_field JobState)
  if [[ -n $state && $state != RUNNING ]]; then # Slurm ends the job.
    if [[ $(job_field Reason) == TimeLimit ]]; then
      reason="the time limit of $(job_field TimeLimit) is over"
    elif (($(job_field Restarts) > requeues)); then
      reason='Slurm queues the job again'
    else
      reason='the job was cancelled'
    fi
  fi
  say "$reason"
  # When Slurm ends a job, it signals all processes. A second signal would hurry them.
  if [[ $state == RUNNING ]]; then
    signals=$((signals + 1))
    pass_signals
  fi
}
trap 'interrupted USR1' USR1
trap 'interrupted TERM' TERM

# end_fault CODE TEXT: ends the job with the code. If it is one of `requeue_codes`, the job is queued again,
# unless Slurm has already decided about it.
end_fault() {
  trap '' USR1 TERM
  local state refusal
  state=$(job_field JobState)
  if [[ $requeue_codes != *" $1 "* ]]; then
    say "failed: $2"
  elif [[ -n $state && $state != RUNNING ]]; then
    say "interrupted: $2" # Slurm has ended the job.
  elif ((requeues >= max_requeues)); then
    say "failed: $2; it was queued again $(times "$requeues"), and MAX_REQUEUES is $max_requeues"
  elif refusal=$(timeout 60 scontrol requeue "$job" 2>&1); then
    say "interrupted: $2; requeue $((requeues + 1)) of $max_requeues"
  else
    say "failed: $2; Slurm does not queue it again: $refusal"
  fi
  exit "$1"
}

# end_job MODEL: ends the job after `run`. The last line of its output says how it ended.
end_job() {
  case $status in
    0)
      say "done${reason:+: $reason}"
      exit 0
      ;;
    3)
      say 'done: some responses are errors (exit code 3)'
      exit 3
      ;;
  esac
  local text="exit code $status${reason:+, because $reason}"
  if [[ -n $supervisor && -n $reason ]]; then
    # It was told to end, so it is not queued again.
    say "ended: $text"
    exit "$status"
  fi
  if [[ $requeue_codes != *" $status "* ]]; then
    # srun has codes of its own if it cannot start the ranks.
    check_nodes "$1"
    text="$text, see the lines above"
  fi
  end_fault "$status" "$text"
}
