#!/bin/bash
# Starts a Slurm cluster of four nodes, runs the job scripts on it, and stops the cluster.
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
cases=(before_time_limit batch_anywhere missing_files mpirun_fallback leftovers limited_requeues array
  one_output batch_requeued ended_at_start serve_and_drain two_services replicas serve_cancelled rank_killed serve_node_lost
  time_limit)
take_down() { "$cluster/slurm-up.sh" down; }
. "$scripts/../tests/two_hosts.sh" "$2" slurmctld slurmd munged srun curl
export HPCSLURM_DIR=$work/slurm
fail() {
  failure=$1
  scontrol -o show jobs | grep -v ' JobState=COMPLETED ' | cut -c 1-400
  exit 1
}
export SLURM_TASK_PLUGIN=task/affinity
if [[ ${SCORECAST_SLURM_TIMEOUTS:-short} == default ]]; then
  export SLURMD_TIMEOUT=300 SLURM_KILLWAIT=30
  patience=600
fi

# submit SCRIPT [SBATCH_OPTION...] -- ARGUMENT...: sets job. Its output is JOB.out, or JOB_TASK.out.
submit() {
  local script=$1 options=()
  shift
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  local name=%j
  [[ $script != array && $script != replicas ]] || name=%A_%a
  job=$(sbatch --parsable "--output=$name.out" "${options[@]}" "$scripts/$script.sbatch" "$@")
}

# job_state: the job's state, exit code and number of requeues.
job_state() {
  scontrol -o show job "$job" |
    sed 's/.* JobState=\([^ ]*\) .* Restarts=\([0-9]*\) .* ExitCode=\([0-9]*\):.*/\1 \3 \2/'
}
ended() { [[ $(job_state) =~ ^(COMPLETED|FAILED|CANCELLED|NODE_FAIL|TIMEOUT) ]]; }

# wait_requeue TIMES: waits until the job has been queued again this many times and has started again, without
# the two minutes for which Slurm would wait. The script's process must have ended by then; steps need not.
wait_requeue() { eventually started_again "$1"; }
started_again() {
  local state host
  state=$(job_state)
  [[ $state == *" $1" && $state != COMPLETING* ]] || return
  if [[ $state == PENDING* ]]; then
    for host in h1 h2 h3 h4; do
      ! on "$host" pgrep -f "^slurmstepd: \\[$job\\.batch" || return
    done
    # A node refuses a job whose credential is from the second in which the same job was ended there.
    sleep 2
    scontrol update JobId="$job" StartTime=now
    return 1
  fi
}

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

# has_comment PATTERN: whether the job's comment, which squeue shows, matches.
has_comment() { scontrol -o show job "$job" | grep -Eq " Comment=$1 +StdErr="; }

# expect_line PATTERN: expects that a line of the job's output matches.
expect_line() { grep -Eq -- "$1" "$job.out" || fail "job $job has no line '$1'"; }

# serve: starts a service, and waits until it is ready.
serve() {
  submit serve -- "$model"
  is_ready 1
}
# program FILE: makes a program that runs the lines of standard input and then executes scorecast.
program() {
  (echo '#!/bin/bash' && cat && echo "exec \"$SCORECAST\" \"\$@\"") > "$1"
  chmod +x "$1"
}

# is_ready TIMES: waits until the service has been ready this many times, and sets http to its address for HTTP.
is_ready() {
  eventually ready_times "$1"
  http=$(grep 'ready: requests on ' "$job.out" | sed -n '$s/.*, HTTP on \([^ ]*\) .*/\1/p')
}
ready_times() { [[ $(grep -c 'ready: requests on ' "$job.out") -ge $1 ]]; }

# has_records FILE COUNT: whether the file has more than COUNT records.
has_records() { [[ -e $1 && $(wc -l < "$1") -gt $2 ]]; }

# stop_rank HOST OUTPUT COUNT: stops the rank on the host as soon as the output has more than COUNT records.
stop_rank() {
  local i rank
  for ((i = 0; i < 100 * patience; ++i)); do
    ! has_records "$2" "$3" || break
    sleep 0.01
  done
  rank=$(ranks_on "$1") || fail "no rank on $1"
  on "$1" kill -STOP "$rank"
}

# stable FILE: prints an output without the members that differ between runs.
stable() { sed -E 's/"timings":\{[^}]*\}//; s/"cached_tokens":[0-9]+//' "$1"; }
# expect_undisturbed OUTPUT REFERENCE
expect_undisturbed() {
  diff <(stable "$1") <(stable "$2") | head -n 5 > diff.out
  test ! -s diff.out || fail "$1 differs from $2"
}
# expect_kept PART OUTPUT: expects that the whole lines of PART, an earlier state of the output, are the
# beginning of OUTPUT.
expect_kept() {
  local lines
  lines=$(wc -l < "$1")
  cmp -s <(head -n "$lines" "$1") <(head -n "$lines" "$2") || fail "records of $2 have changed"
}

# scores FILE: prints the scores of a response.
scores() { grep -o '"scores":[^a-z]*' "$1"; }
score() {
  SCORECAST_API_KEY=$(cat "scorecast-serve.$job.key") "$SCORECAST" score --json --connect-file "scorecast-serve.$job.json" --query 'The capital of France is' \
    --item ' Paris' --item ' London' --label ' yes' --label ' no' > response.json
}
# expect_scores MESSAGE [OUTPUT]: the last scores are those of a batch, in.out.jsonl, which two ranks have computed.
expect_scores() { [[ $(scores response.json) == "$(scores "${2:-in.out.jsonl}")" ]] || fail "$1"; }

# kill_ranks HOST: kills the ranks on the host. Ranks have PMIX_RANK in their environment; the supervisor does
# not.
kill_ranks() {
  # shellcheck disable=SC2016
  on "$1" bash -c 'for pid in $(pgrep -x scorecast); do
    ! grep -qz ^PMIX_RANK= /proc/$pid/environ || kill -KILL $pid; done'
}

# Starts jobs whose time limit comes near. Slurm checks limits every 30 s, so these jobs run beside the next
# ones.
before_time_limit() {
  submit serve --time=1 --nodes=1 --nodelist=h3 -- "$model"
  limited_serve=$job
  head -n 1000 long.jsonl > limited.jsonl
  submit batch --time=1 --nodes=1 --nodelist=h4 -- "$model" limited.jsonl limited.out.jsonl
  limited_batch=$job
  let_limit_strike &
}
# let_limit_strike: stops the rank of the batch in the middle of the run, until the job is told to end.
let_limit_strike() {
  stop_rank h4 limited.out.jsonl 20
  eventually grep -q 'the time limit' "$job.out"
  on h4 kill -CONT "$(ranks_on h4)"
  wait_requeue 1
}

# batch: from any directory; a rank has the CPUs of its node; the exit code says whether all lines were scored
batch_anywhere() {
  submit batch --nodelist=h1,h2 "--export=SCORECAST=$SCORECAST" --mem-per-cpu=1G -- "$model" in.jsonl in.out.jsonl
  expect_end COMPLETED 0 0 ': done'
  expect_line '^input     in.jsonl: 1 line$'
  expect_line '2 ranks x 2 threads'
  expect_line 'rank 0 may use 2 CPUs'
  test -n "$(scores in.out.jsonl)" || fail 'no scores'
  submit batch --nodes=1 -- "$model" bad.jsonl ok.out.jsonl --ok-with-refusals
  local ok=$job
  submit batch --nodes=1 -- "$model" in.jsonl nowhere/out.jsonl
  local wrong=$job
  submit batch --nodes=1 -- "$model" bad.jsonl bad.out.jsonl
  expect_end FAILED 3 0 'done: some responses are errors \(exit code 3\)'
  job=$ok
  expect_end COMPLETED 0 0 ': done'
  job=$wrong
  expect_end FAILED 1 0 'failed: exit code 1, see the lines above'
  expect_line '^scorecast: cannot write (.*/)?nowhere/out.jsonl: No such file or directory$'
}

# batch, serve: the message names what is missing, and the node; a job that cannot succeed is not tried again
missing_files() {
  submit batch --nodes=1 -- "$model" in.jsonl
  expect_end FAILED 1 0 'failed: arguments are missing: sbatch slurm/batch.sbatch MODEL_DIR IN.jsonl .*'
  submit batch --nodes=1 -- "$model" in.jsonl wrong.out.jsonl --restart
  expect_end FAILED 1 0 'failed: no --restart, because the job may be queued again: remove the output instead'
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
  printf '#!/bin/sh\nexit 127\n' > no_libraries
  chmod +x no_libraries
  SCORECAST=$work/no_libraries submit serve --nodes=1 -- "$model"
  expect_end FAILED 127 0 'failed: exit code 127, see the lines above'
}

# batch: mpirun starts the ranks if srun cannot; two ranks on a node have a CPU each
mpirun_fallback() {
  MPI=pmi9 RANKS_PER_NODE=2 submit batch --comment='my own' --nodelist=h1,h2 -- "$model" in.jsonl mpirun.out.jsonl
  expect_end COMPLETED 0 0 ': done'
  has_comment 'my own' || fail 'the comment of the user is gone'
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

# batch: a rank is killed again and again: requeues without progress are limited
limited_requeues() {
  # Computes nothing as soon as the file "broken" is there.
  program may_break.sh << PROGRAM
[[ " \$* " == *' --dry-run '* || ! -e $work/broken ]] || kill -KILL \$\$
PROGRAM
  SCORECAST=$work/may_break.sh MAX_REQUEUES=1 submit batch --nodelist=h1,h2 -- "$model" endless.jsonl killed.out.jsonl
  stop_rank h2 killed.out.jsonl 20
  kill_ranks h2
  wait_requeue 1
  stop_rank h2 killed.out.jsonl $(($(wc -l < killed.out.jsonl) + 20))
  touch broken
  kill_ranks h2
  wait_requeue 2
  expect_end FAILED '[0-9]*' 2 \
    'failed: exit code [0-9]*; it was queued again once since its last progress, and MAX_REQUEUES is 1'
  expect_line 'interrupted: exit code [0-9]*; requeue 1 of 1$'
  expect_line 'interrupted: exit code [0-9]*; requeue 2, 1 of 1 since the last progress$'
  test ! -e killed.out.jsonl.requeues || fail 'the count of requeues is still there'
}

# batch: the tasks of an array share the file, and together have the records of a run by one rank
array() {
  submit batch --nodes=1 --nodelist=h1 -- "$model" long.jsonl one_rank.out.jsonl
  local whole=$job
  submit array --array=0-1 --nodelist=h2 -- "$model" long.jsonl part.out.jsonl
  local index array=$job
  for index in 0 1; do
    job=${array}_$index
    expect_end COMPLETED 0 0 'done'
  done
  job=$whole
  expect_end COMPLETED 0 0 'done'
  paste -d '\n' part.out.0-of-2.jsonl part.out.1-of-2.jsonl | sed '/^$/d' > joined.out.jsonl
  expect_undisturbed joined.out.jsonl one_rank.out.jsonl
  submit array --array=1 -- "$model" long.jsonl part.out.jsonl
  job=${job}_1
  expect_end FAILED 1 0 'failed: the array is not 0-0: set SHARDS to the number of all tasks'
}

# batch: of two jobs with the same output, one computes, and the other is refused; squeue shows how far it is
one_output() {
  PROGRESS_SECONDS=1 submit batch --nodes=1 --nodelist=h1 -- "$model" long.jsonl shared.out.jsonl
  local first=$job
  stop_rank h1 shared.out.jsonl 20
  eventually has_comment "scorecast: [1-9][0-9]* of $line_count lines \\([0-9]+ %\\)(, [0-9:]+ left)?"
  submit batch --nodes=1 --nodelist=h2 -- "$model" long.jsonl shared.out.jsonl
  expect_end FAILED 1 0 'failed: exit code 1, see the lines above'
  expect_line '^scorecast: .*/shared.out.jsonl is being written by process [0-9]* on host h1'
  on h1 kill -CONT "$(ranks_on h1)"
  job=$first
  expect_end COMPLETED 0 0 'done'
  has_comment "scorecast: $line_count of $line_count lines \\(100 %\\)" || fail 'the comment does not tell that all lines are done'
  expect_undisturbed shared.out.jsonl one_rank.out.jsonl
}

# batch: a run is continued after each requeue: first by scontrol, then after the loss of a node
batch_requeued() {
  submit batch --nodelist=h1,h2 -- "$model" long.jsonl two_ranks.out.jsonl
  expect_end COMPLETED 0 0 'done'
  submit batch --exclude=h3 -- "$model" long.jsonl requeued.out.jsonl
  stop_rank h2 requeued.out.jsonl 20
  scontrol requeue "$job" # Its SIGCONT reaches the rank.
  wait_requeue 1
  cp requeued.out.jsonl kept1.out.jsonl
  stop_rank h2 requeued.out.jsonl $(($(wc -l < kept1.out.jsonl) + 20))
  "$cluster/slurm-up.sh" node-stop h2
  wait_requeue 2
  cp requeued.out.jsonl kept2.out.jsonl
  expect_end COMPLETED 0 2 'done'
  "$cluster/slurm-up.sh" node-start h2
  expect_line 'interrupted: exit code 75, because Slurm queues the job again$'
  expect_line 'scorecast: rank 1 is gone'
  expect_kept kept1.out.jsonl requeued.out.jsonl
  expect_kept kept2.out.jsonl requeued.out.jsonl
  expect_undisturbed requeued.out.jsonl two_ranks.out.jsonl
}

# batch: SIGUSR1 does not kill rank 0 before it has a handler. If Slurm refuses the requeue, the last line says
# so
ended_at_start() {
  # A program that reaches main only when the file "go" exists.
  program slow_start.sh << PROGRAM
[[ " \$* " == *' --dry-run '* ]] || touch "$work/slow.\$SLURM_JOB_ID"
while [[ -e $work/slow.\$SLURM_JOB_ID && ! -e $work/go ]]; do sleep 0.1; done
PROGRAM
  # A scontrol that is killed by Slurm after it has queued the job again.
  mkdir killed
  cat > killed/scontrol << PROGRAM
#!/bin/bash
[[ \$1 != requeue ]] || { $(command -v scontrol) "\$@"; exit 143; }
exec $(command -v scontrol) "\$@"
PROGRAM
  chmod +x killed/scontrol
  head -n 100 long.jsonl > short.jsonl
  head -n 100 two_ranks.out.jsonl > short.two_ranks.out.jsonl
  local mpi jobs=()
  for mpi in pmix mpirun; do
    PATH=$work/killed:$PATH MPI=$mpi SCORECAST=$work/slow_start.sh submit batch --nodelist=h1,h2 \
      --exclusive=user -- "$model" short.jsonl "short.$mpi.out.jsonl"
    jobs+=("$job")
  done
  submit batch --no-requeue --nodes=1 -- "$model" short.jsonl no_requeue.out.jsonl
  eventually grep -q ': starts on ' "$job.out"
  scancel --batch --signal=USR1 "$job"
  local refused=$job
  for job in "${jobs[@]}"; do
    eventually test -e "slow.$job"
    scancel --batch --signal=USR1 "$job"
  done
  for job in "${jobs[@]}"; do
    eventually grep -q ': SIGUSR1$' "$job.out"
  done
  sleep 1 # A signal that is not held back reaches the ranks.
  touch go
  local waits=()
  for job in "${jobs[@]}"; do
    wait_requeue 1 &
    waits+=($!)
  done
  wait "${waits[@]}"
  for mpi in pmix mpirun; do
    job=${jobs[0]}
    jobs=("${jobs[@]:1}")
    expect_end COMPLETED 0 1 'done'
    expect_line 'User defined signal 1: ending '
    expect_line 'interrupted: exit code 75, because SIGUSR1; requeue 1 of 10$'
    expect_undisturbed "short.$mpi.out.jsonl" short.two_ranks.out.jsonl
  done
  job=$refused
  expect_end FAILED 75 0 'failed: exit code 75, because SIGUSR1; Slurm does not queue it again: .+'
}

# serve: the scores are the same over the network, and the service drains
serve_and_drain() {
  serve
  score
  expect_scores 'serve and batch differ'
  test "$(stat -c %a "scorecast-serve.$job.key")" = 600 || fail 'others can read the key'
  test "$(curl -sS -o /dev/null -w '%{http_code}' "http://$http/v1/models")" = 401 || fail 'no key was needed'
  curl -sS -H "Authorization: Bearer $(cat "scorecast-serve.$job.key")" --json '{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}' \
    "http://$http/v1/score" > response.json
  expect_scores 'HTTP and batch differ'
  scancel --batch --signal=USR1 "$job"
  expect_end COMPLETED 0 0 'done: SIGUSR1'
  expect_line ' stopped'
  test ! -e "scorecast-serve.$job.json" || fail 'the address file is still there'
}

# serve: two services at once on a node
two_services() {
  local jobs=()
  for _ in 1 2; do
    submit serve --nodes=1 --nodelist=h1 --exclusive=user -- "$model"
    jobs+=("$job")
  done
  for job in "${jobs[@]}"; do
    is_ready 1
    score
  done
  scancel --batch --signal=USR1 "${jobs[@]}"
  for job in "${jobs[@]}"; do
    expect_end COMPLETED 0 0 'done: SIGUSR1'
  done
}

# replicas: the front uses all services, and goes on with the others when one fails or drains; they share their keys
replicas() {
  submit batch --nodes=1 -- "$model" in.jsonl one.out.jsonl
  expect_end COMPLETED 0 0 ': done'
  FRONT_PORT=0 FRONT_HTTP_PORT=0 submit replicas --array=0-1 --nodes=1 --exclude=h3,h4 -- "$model"
  local array=$job directory=scorecast-replicas.$job host
  job=${array}_0
  eventually grep -q ' (front on host ' "$job.out"
  http=$(sed -n 's/.*, HTTP on \([^ ]*\) (front on host .*/\1/p' "$job.out")
  key=$(cat "$directory/keys/client.key")
  eventually ready_services 2
  test "$(stat -c %a "$directory/keys")" = 700 || fail 'others can read the keys'
  test "$(curl -sS -o /dev/null -w '%{http_code}' "http://$http/v1/models")" = 401 || fail 'no key was needed'
  ask_front
  expect_scores 'the front and batch differ' one.out.jsonl
  host=$(scontrol -o show job "${array}_1" | sed 's/.* NodeList=\([^ ]*\).*/\1/')
  kill_ranks "$host"
  ask_front
  expect_scores 'other scores after a service has failed' one.out.jsonl
  eventually ready_services 2
  scancel --batch --signal=USR1 "${array}_1"
  job=${array}_1
  expect_end COMPLETED 0 0 'done: SIGUSR1'
  test ! -e "$directory/services/1.json" || fail 'the address file is still there'
  ask_front
  expect_scores 'other scores after a service has drained' one.out.jsonl
  job=${array}_0
  scancel --batch --signal=USR1 "$job"
  expect_end COMPLETED 0 0 'done: SIGUSR1'
}
# ready_services COUNT: whether the front has this many services that are ready.
ready_services() {
  [[ $(curl -sS -H "Authorization: Bearer $key" "http://$http/metrics" |
    grep -c '^scorecast_front_replica_ready{.*} 1$') == "$1" ]]
}
# ask_front: asks the front at `http` with the key in `key`.
ask_front() {
  curl -sS -H "Authorization: Bearer $key" --json '{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}' \
    "http://$http/v1/score" > response.json
}

# serve: scancel also drains the service
serve_cancelled() {
  serve
  scancel "$job"
  expect_end CANCELLED '[0-9]*' 0 '(done|interrupted): .*the job was cancelled'
  expect_line ' stopped'
}

# serve: a rank is killed, and the service comes back
rank_killed() {
  local rank try starts=1
  serve
  # srun kills the other ranks as soon as it notices. On a busy machine they may be killed before they can print
  # the message, so there are three tries.
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
  expect_end CANCELLED '[0-9]*' 0 '(done|interrupted): .*the job was cancelled'
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

# Checks the jobs of before_time_limit: the service has drained, and the batch was continued.
time_limit() {
  job=$limited_serve
  expect_end COMPLETED 0 0 'done: the time limit of 00:01:00 is over in [0-9]* s'
  job=$limited_batch
  # On a busy machine, a minute is too short for the rest, too.
  expect_end COMPLETED 0 '[1-9]' 'done'
  expect_line 'interrupted: exit code 75, because the time limit of 00:01:00 is over in [0-9]* s; requeue 1 of 10$'
  expect_line 'going on behind record '
  head -n 1000 one_rank.out.jsonl > limited.one_rank.out.jsonl
  expect_undisturbed limited.out.jsonl limited.one_rank.out.jsonl
}

"$cluster/slurm-up.sh" up 4 netns > up.out 2>&1
eval "$("$cluster/slurm-up.sh" env)"
# The jobs are submitted from a directory that is not the repository's.
cat > in.jsonl << 'LINES'
{"custom_id":"a","method":"POST","url":"/v1/score","body":{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}}
LINES
(cat in.jsonl && echo '{}') > bad.jsonl
line_count=4000
for ((i = 0; i < line_count; ++i)); do
  printf '{"custom_id":"%d","method":"POST","url":"/v1/score","body":{"query":"The number %d is","items":[" %d"," %d"," %d",' \
    $i $i $((i - 1)) $((i + 1)) $((i + 2))
  echo '" odd"," even"," a square"],"labels":[" yes"," no"]}}'
done > long.jsonl
# long.jsonl ten times: a batch that does not end while the test runs.
for ((i = 0; i < 10; ++i)); do
  sed "s/\"custom_id\":\"/&$i-/" long.jsonl
done > endless.jsonl

if (($# > 2)); then
  cases=("${@:3}")
fi
for name in "${cases[@]}"; do
  echo "$name"
  "$name"
done
