# shellcheck shell=bash disable=SC2154,SC2034
# Sourced by the job scripts of this directory. They set `repository` and `arguments`; those of a batch set
# `output`, too. If a signal to the job has ended the run, `reason` names it. Variables of sbatch's environment:
#
#   SCORECAST        the executable; default: build/release/scorecast of the repository
#   RANKS_PER_NODE   default: one rank for each NUMA node of the first host
#   MPI              who starts the ranks: a name that `srun --mpi=list` prints, or mpirun. Default:
#                    $SLURM_MPI_TYPE, otherwise pmix; mpirun if srun does not have it
#   MAX_REQUEUES     how often the job is queued again before it gives up; default: 10. For a batch, requeues
#                    count from 0 again after progress
#   PROGRESS_SECONDS how often the job's comment tells the progress of a batch; default: 60; 0: never
set -eu

# With `sbatch --export`, srun and mpirun would start tasks without the script's environment, even without PATH.
export SLURM_EXPORT_ENV=ALL PATH

# Only in this form does scontrol take the number for one task of an array. The plain number of the array's last
# task would mean the whole array.
job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
job=${job:-$SLURM_JOB_ID}
requeues=${SLURM_RESTART_COUNT:-0}
max_requeues=${MAX_REQUEUES:-10}
progress_seconds=${PROGRESS_SECONDS:-60}
scorecast=${SCORECAST:-$repository/build/release/scorecast}

# Exit codes after which the same job may succeed: a rank or a host was lost (70, 137, 143, 205; 16 or 17 if
# Open MPI notices it first), ranks did not end (72), the run was interrupted or stuck (75). docs/operations.md
# lists all codes.
requeue_codes=' 16 17 70 72 75 137 143 205 '

# Older copies of the job scripts may not set it.
: "${reason:=}"
# Process for which the script waits: srun, mpirun, or the supervisor of a service.
process=
supervisor=

# say TEXT: prints a line of the job's output.
say() { echo "$(date '+%F %T') job $job: $1" >&2; }

# fail TEXT: ends the job because of a fault that would be the same at the next start.
fail() {
  drop_count
  say "failed: $1"
  exit 1
}

# expect_arguments COUNT SYNOPSIS
expect_arguments() {
  ((${#arguments[@]} >= $1)) || fail "arguments are missing: sbatch $2"
}

# has_flag FLAG: whether the arguments contain the flag. scorecast takes a flag only once.
has_flag() { [[ " ${arguments[*]} " == *" $1"[\ =]* ]]; }

# times COUNT: prints "once" or "N times".
times() { (($1 == 1)) && echo once || echo "$1 times"; }

# job_field NAME: prints a field of the job, or nothing if Slurm does not answer. It asks again, because Slurm's
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

# is_queued_again: whether Slurm has queued the job again since it started.
is_queued_again() {
  local restarts
  restarts=$(job_field Restarts)
  ((${restarts:-0} > requeues))
}

# When rank 0 starts, which is on this host, it writes its process id to this file.
started=$(mktemp)
# Output of a dry run.
found=$(mktemp)
trap 'rm -f "$started" "$found"' EXIT

. "$repository/slurm/progress.sh"
. "$repository/slurm/signals.sh"

# plan: decides how many ranks run and who starts them. Sets the array `launcher`.
plan() {
  count_requeues
  ((counted <= max_requeues)) || fail "$(limit_text "$counted")"
  test -x "$scorecast" || fail "no executable $scorecast on $(hostname -s): build it, or set SCORECAST"

  # SLURM_JOB_CPUS_PER_NODE is "4(x2),8" for two nodes with 4 CPUs and one with 8. All ranks get the same number
  # of CPUs, so the smallest node counts.
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
    # mpirun starts its daemons by srun. Ranks would inherit the daemons' binding, so daemons are not bound.
    export SLURM_CPU_BIND=none
  else
    # The ranks of a node get consecutive cores, so that each has a NUMA node of its own. --overlap is needed
    # because an earlier step does not end if its node is lost, and would keep the CPUs. --mem=0 lets a step use
    # all memory of the job.
    launcher=(srun "--mpi=$mpi" --kill-on-bad-exit=1 --overlap "--nodes=$nodes"
      "--ntasks=$((nodes * per_node))" "--ntasks-per-node=$per_node" "--cpus-per-task=$cpus_per_rank"
      --mem=0 --distribution=block:block --cpu-bind=cores)
    rank=SLURM_PROCID
    mpi="srun --mpi=$mpi"
  fi
  # `exec` keeps the process id.
  launcher+=(bash -c 'test "${!0}" != 0 || echo $$ > "$1"; exec "${@:2}"' "$rank" "$started")
  # The variable replaces Open MPI's default list of files, so it must also name the user's and the system's
  # file.
  local user_file=${HOME:-}/.openmpi/mca-params.conf own_file=$repository/launcher/openmpi-mca-params.conf
  export OMPI_MCA_mca_base_param_files="${OMPI_MCA_mca_base_param_files:-$user_file,$own_file,\
/etc/openmpi/openmpi-mca-params.conf}"
  local again=
  ((requeues == 0)) || again=" ($(requeue_text "$requeues" "$counted"))"
  say "starts$again on $SLURM_JOB_NODELIST: ranks on each node: $per_node, CPUs of each rank: \
$cpus_per_rank, started by $mpi"
}

# check_nodes MODEL: ends the job if a node cannot read the executable or the model, and names the node.
check_nodes() {
  local missing result=0
  # shellcheck disable=SC2016
  missing=$(timeout 120 srun --mpi=none --overlap "--nodes=$SLURM_JOB_NUM_NODES" \
    "--ntasks=$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mem=0 --cpu-bind=none bash -c '
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
# code. If a signal comes before the ranks are started, the status of a batch is 75, so that it can be
# continued, and that of a service is 0.
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
    if [[ -n $total ]]; then
      report_progress &
    fi
    while :; do
      trapped=
      status=0
      wait "$process" || status=$?
      test -n "$trapped" || break # Otherwise a signal has ended `wait`.
    done
    process=
    # The program cannot be executed, so another try would fail, too.
    ((status != 126 && status != 127)) || return 0
    if [[ -n $reason && ! -s $started ]]; then
      status=$not_started
    fi
    if [[ ${launcher[0]} == mpirun || -s $started || -n $reason ]]; then
      return
    fi
    # A node that was lost may have files of a step with the same number, which keep srun from starting a rank
    # there. srun may nevertheless end with 0. The next step has another number.
    say "srun has started no rank (try $try of 5)"
    sleep 3
  done
  status=70
}

# end_fault CODE TEXT: ends the job with the code. If it is one of `requeue_codes`, the job is queued again,
# unless Slurm has already decided about it.
end_fault() {
  trap '' USR1 TERM
  local state refusal since=$counted
  ! has_progressed || since=0
  state=$(job_field JobState)
  if [[ $requeue_codes != *" $1 "* ]]; then
    drop_count
    say "failed: $2"
  elif [[ -n $state && $state != RUNNING ]]; then # Slurm has ended the job.
    is_queued_again || drop_count
    say "interrupted: $2"
  elif ((since >= max_requeues)); then
    drop_count
    say "failed: $2; $(limit_text "$since")"
  # When Slurm queues the job again, it signals all processes. This may end the scontrol that has asked for it.
  elif refusal=$(timeout 60 scontrol requeue "$job" 2>&1) || is_queued_again; then
    say "interrupted: $2; $(requeue_text $((requeues + 1)) $((since + 1)))"
  else
    drop_count
    say "failed: $2; Slurm does not queue it again: ${refusal:-scontrol requeue gives no reason}"
  fi
  exit "$1"
}

# end_job MODEL: ends the job after `run`. The last line of its output says how it ended.
end_job() {
  tell_progress
  case $status in
    0)
      drop_count
      say "done${reason:+: $reason}"
      exit 0
      ;;
    3)
      drop_count
      say 'done: some responses are errors (exit code 3)'
      exit 3
      ;;
  esac
  local text="exit code $status${reason:+, because $reason}"
  if [[ -n $supervisor && -n $reason ]]; then
    # A signal told the job to end, so it is not queued again.
    say "ended: $text"
    exit "$status"
  fi
  if [[ $requeue_codes != *" $status "* ]]; then
    # If srun cannot start the ranks, it ends with codes of its own.
    check_nodes "$1"
    text="$text, see the lines above"
  fi
  end_fault "$status" "$text"
}

# run_batch MODEL FLAG...: runs `scorecast batch` with the flags, and ends the job. The first start begins with a
# dry run, so that a fault of the flags, the model or the files ends the job before the model is read.
run_batch() {
  local model=$1
  shift
  check_nodes "$model"
  status=0
  if [[ -z $total ]]; then
    run "${launcher[@]}" "$scorecast" batch --dry-run "$@" > "$found"
    cat "$found"
    # Empty if the input cannot be read twice.
    total=$(sed -n 's/^done .* of \([0-9]*\) lines\{0,1\}$/\1/p' "$found" | tail -n 1)
  fi
  if ((status == 0)); then
    keep_count
    run "${launcher[@]}" "$scorecast" batch "$@"
  fi
  end_job "$model"
}
