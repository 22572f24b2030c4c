#!/bin/bash
# Starts a Slurm cluster of three nodes, runs the job scripts on it, and stops the cluster.
#
#   slurm_test.sh SCORECAST SHARED_DIR [CASE...]
#
# Without cases, all are run.
#
# Needs what tests/two_hosts.sh needs, and Debian's slurm-wlm and munge. Without them the test is skipped.
# Slurm binds tasks to CPUs as on most clusters. A node that does not answer is lost after 10 s;
# SCORECAST_SLURM_TIMEOUTS=default takes Slurm's own times instead (300 s, and 30 s between SIGTERM and
# SIGKILL), and minutes longer.
scripts=$(cd "$(dirname "$0")" && pwd)
export SCORECAST=$1
cases=(serve_before_time_limit batch_anywhere missing_files mpirun_fallback leftovers limited_requeues
  serve_and_drain serve_cancelled rank_killed serve_node_lost serve_time_limit)
take_down() { "$cluster/slurm-up.sh" down; }
. "$scripts/../tests/two_hosts.sh" "$2" slurmctld slurmd munged srun curl
export HPCSLURM_DIR=$work/slurm
export SLURM_TASK_PLUGIN=task/affinity
if [[ ${SCORECAST_SLURM_TIMEOUTS:-short} == default ]]; then
  export SLURMD_TIMEOUT=300 SLURM_KILLWAIT=30
  patience=600
fi

# submit SCRIPT [SBATCH_OPTION...] -- ARGUMENT...: sets job. Its output is JOB.out.
submit() {
  local script=$1 options=()
  shift
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  job=$(sbatch --parsable --output=%j.out "${options[@]}" "$scripts/$script.sbatch" "$@")
}

# job_state: the job's state, exit code and number of requeues.
job_state() {
  scontrol -o show job "$job" |
    sed 's/.* JobState=\([^ ]*\) .* Restarts=\([0-9]*\) .* ExitCode=\([0-9]*\):.*/\1 \3 \2/'
}
ended() { [[ $(job_state) =~ ^(COMPLETED|FAILED|CANCELLED|NODE_FAIL|TIMEOUT) ]]; }

# wait_requeue TIMES: waits until the job was queued again so often, and lets it start at once. Slurm would
# wait for two minutes.
wait_requeue() {
  eventually requeued "$1"
  local host
  for host in h1 h2 h3; do
    eventually no_steps_on "$host"
  done
  eventually scontrol update JobId="$job" StartTime=now
}
no_steps_on() { ! on "$1" pgrep -x slurmstepd; }
requeued() { [[ $(job_state) == "PENDING "*" $1" ]]; }

# expect_end STATE EXIT_CODE REQUEUES LAST_LINE: waits for the job's end, compares, and expects that none of
# its processes is left. LAST_LINE is a regular expression for the end of the last line of its output.
expect_end() {
  eventually ended
  [[ $(job_state) =~ ^$1\ $2\ $3$ ]] || fail "job $job ended with '$(job_state)', not '$1 $2 $3'"
  [[ $(tail -n 1 "$job.out") =~ $4$ ]] || fail "the last line of job $job is not '$4'"
  local host
  for host in $(scontrol show hostnames "$(scontrol -o show job "$job" | sed 's/.* NodeList=\([^ ]*\).*/\1/')"); do
    eventually none_on "$host"
  done
}

# expect_line PATTERN: the job's output has a line that matches.
expect_line() { grep -Eq -- "$1" "$job.out" || fail "job $job has no line '$1'"; }

# serve: starts a service, and waits until it is ready.
serve() {
  submit serve -- "$model"
  is_ready 1
}
# is_ready TIMES: waits until the service has been ready so often, and sets http to its address for HTTP.
is_ready() {
  eventually ready_times "$1"
  http=$(grep 'ready: requests on ' "$job.out" | sed -n '$s/.*, HTTP on \([^ ]*\) .*/\1/p')
}
ready_times() { [[ $(grep -c 'ready: requests on ' "$job.out") -ge $1 ]]; }

# loaded_times N: the ranks of the batch have loaded the model so often.
loaded_times() { [[ $(grep -c ' of weights a rank read ' "$job.out") -ge $1 ]]; }

# scores FILE: prints the scores of a response.
scores() { grep -o '"scores":[^a-z]*' "$1"; }
score() {
  "$SCORECAST" score --json --connect-file "scorecast-serve.$job.json" --query 'The capital of France is' \
    --item ' Paris' --item ' London' --label ' yes' --label ' no' > response.json
}
expect_scores() { [[ $(scores response.json) == "$(scores in.out.jsonl)" ]] || fail "$1"; }

# kill_ranks HOST: kills the host's ranks. They have PMIX_RANK, the supervisor has not.
kill_ranks() {
  # shellcheck disable=SC2016
  on "$1" bash -c 'for pid in $(pgrep -x scorecast); do
    ! grep -qz ^PMIX_RANK= /proc/$pid/environ || kill -KILL $pid; done'
}

# serve: the time limit comes near
serve_before_time_limit() {
  submit serve --time=1 --nodes=1 --nodelist=h3 -- "$model"
  limited=$job
}

# batch: from any directory; a rank has the CPUs of its node; the exit code says whether all lines were scored
batch_anywhere() {
  submit batch --nodelist=h1,h2 -- "$model" in.jsonl in.out.jsonl
  expect_end COMPLETED 0 0 ': done'
  expect_line '2 ranks x 2 threads'
  expect_line 'rank 0 may use 2 CPUs'
  test -n "$(scores in.out.jsonl)" || fail 'no scores'
  submit batch -- "$model" bad.jsonl bad.out.jsonl
  expect_end FAILED 3 0 'done: some responses are errors \(exit code 3\)'
}

# batch: what is missing is named, with the node
missing_files() {
  submit batch --nodes=1 -- "$model" in.jsonl
  expect_end FAILED 1 0 'failed: arguments are missing: sbatch slurm/batch.sbatch MODEL_DIR IN.jsonl .*'
  mkdir model
  cp "$model"/* model
  on h2 mount -t tmpfs tmpfs "$work/model"
  submit batch --nodelist=h1,h2 -- "$work/model" in.jsonl wrong.out.jsonl
  expect_end FAILED 1 0 "failed: no model $work/model on h2: config.json cannot be read"
  on h2 umount "$work/model"
  cp "$SCORECAST" model/scorecast
  on h2 mount --bind /dev/null "$work/model/scorecast"
  SCORECAST=$work/model/scorecast submit batch --nodelist=h1,h2 -- "$model" in.jsonl wrong.out.jsonl
  expect_end FAILED 1 0 "failed: no executable $work/model/scorecast on h2"
}

# batch: mpirun starts the ranks if srun cannot; two ranks on a node have a CPU each
mpirun_fallback() {
  MPI=pmi9 RANKS_PER_NODE=2 submit batch --nodelist=h1,h2 -- "$model" in.jsonl mpirun.out.jsonl
  expect_end COMPLETED 0 0 ': done'
  expect_line 'srun has no --mpi=pmi9, so mpirun starts the ranks'
  expect_line '4 ranks x 1 thread,'
  RANKS_PER_NODE=2 submit batch --nodelist=h1,h2 -- "$model" in.jsonl srun.out.jsonl
  expect_end COMPLETED 0 0 ': done'
  expect_line '4 ranks x 1 thread,'
  expect_line 'rank 0 may use 1 CPU '
  test "$(scores mpirun.out.jsonl)" = "$(scores srun.out.jsonl)" || fail 'srun and mpirun differ'
}

# batch: a lost step has left files that keep srun from starting another one with the same number
leftovers() {
  submit batch --hold -- "$model" in.jsonl leftovers.out.jsonl
  mkdir "$HPCSLURM_DIR/tmp.h1/spmix_appdir_0_$job.1"
  scontrol release "$job"
  expect_end COMPLETED 0 0 'done'
  expect_line 'srun has started no rank \(try 1 of 5\)'
  test "$(scores leftovers.out.jsonl)" = "$(scores in.out.jsonl)" || fail 'other scores'
}

# serve: the scores are the same over the network, and the service drains
serve_and_drain() {
  serve
  score
  expect_scores 'serve and batch differ'
  curl -sS --json '{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}' \
    "http://$http/v1/score" > response.json
  expect_scores 'HTTP and batch differ'
  scancel --batch --signal=USR1 "$job"
  expect_end COMPLETED 0 0 'done: SIGUSR1'
  expect_line ' stopped'
  test ! -e "scorecast-serve.$job.json" || fail 'the address file is still there'
}

# serve: scancel also drains the service
serve_cancelled() {
  serve
  scancel "$job"
  expect_end CANCELLED 0 0 'done: the job was cancelled'
  expect_line ' stopped'
}

# serve: a rank is killed, and the service comes back
rank_killed() {
  local rank try starts=1
  serve
  # srun kills the other ranks as soon as it notices. On a busy machine they may be killed before they can
  # print the message, hence three tries.
  for rank in 0 1; do
    for try in 1 2 3; do
      kill_ranks "h$((rank + 1))"
      starts=$((starts + 1))
      is_ready $starts
      eventually score
      expect_scores 'other scores after a restart'
      ! grep -q "rank $rank is gone" "$job.out" || continue 2
    done
    fail "rank $rank was not named in $try tries"
  done
  scancel "$job"
  expect_end CANCELLED 0 0 'done: the job was cancelled'
}

# serve: a node is lost: the job is queued again, and serves on the nodes that are left
serve_node_lost() {
  serve
  "$cluster/slurm-up.sh" node-stop h2
  wait_requeue 1
  is_ready 2
  "$cluster/slurm-up.sh" node-start h2
  score
  expect_scores 'other scores after a requeue'
  scancel --batch --signal=USR1 "$job"
  expect_end COMPLETED 0 1 'done: SIGUSR1'
}

# serve: the time limit came near
serve_time_limit() {
  job=$limited
  expect_end COMPLETED 0 0 'done: the time limit of 00:01:00 is over in [0-9]* s'
}

# batch: a rank is killed again and again: the requeues are limited
limited_requeues() {
  local kill
  yes "$(cat in.jsonl)" | head -n 10000 > long.jsonl
  MAX_REQUEUES=1 submit batch --nodelist=h1,h2 -- "$model" long.jsonl long.out.jsonl
  for kill in 1 2; do
    eventually loaded_times $kill
    kill_ranks h2
    test $kill = 2 || wait_requeue 1
  done
  expect_end FAILED '[0-9]*' 1 'failed: exit code [0-9]*; it was queued again once, and MAX_REQUEUES is 1'
  expect_line 'interrupted: exit code [0-9]*; requeue 1 of 1$'
}

"$cluster/slurm-up.sh" up 3 netns > up.out 2>&1
eval "$("$cluster/slurm-up.sh" env)"
# The jobs are submitted from a directory that is not the repository's.
cat > in.jsonl << 'LINES'
{"custom_id":"a","method":"POST","url":"/v1/score","body":{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}}
LINES
(cat in.jsonl && echo '{}') > bad.jsonl

if (($# > 2)); then
  cases=("${@:3}")
fi
for name in "${cases[@]}"; do
  echo "$name"
  "$name"
done
