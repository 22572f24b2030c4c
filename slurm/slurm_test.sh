#!/bin/bash
# Starts a Slurm cluster of two nodes, runs both job scripts on it, and stops the cluster.
#
#   slurm_test.sh SCORECAST SHARED_DIR
#
# Needs what tests/two_hosts.sh needs, and Debian's slurm-wlm and munge. Without them the test is
# skipped.
scripts=$(cd "$(dirname "$0")" && pwd)
export SCORECAST=$1
take_down() { "$cluster/slurm-up.sh" down; }
. "$scripts/../tests/two_hosts.sh" "$2" slurmctld slurmd munged srun
export HPCSLURM_DIR=$work/slurm

# expect_end JOB PATTERN: waits for the job's end, compares its state and exit code with the pattern, and
# expects that no process of it is left.
expect_end() {
  eventually ended "$1"
  local end
  end=$(scontrol -o show job "$1" | sed 's/.* JobState=\([^ ]*\) .* ExitCode=\([0-9]*\):.*/\1 \2/')
  # shellcheck disable=SC2053
  [[ $end == $2 ]] || fail "job $1 ended with $end, not $2"
  eventually none_on h1
  eventually none_on h2
}
ended() { scontrol show job "$1" | grep -Eq 'JobState=(COMPLETED|FAILED|CANCELLED|NODE_FAIL)'; }

# serve: starts the service, waits until it is ready, and sets job, port, http_port and address.
serve() {
  job=$(sbatch --parsable --no-requeue --output=serve.%j.out "$scripts/serve.sbatch" "$model" \
    --port 0 --http-port 0)
  eventually grep -q 'ready: .* (host h1)$' "serve.$job.out"
  port=$(sed -n 's/.*ready: requests on [0-9.]*:\([0-9]*\), .*/\1/p' "serve.$job.out")
  http_port=$(sed -n 's/.*ready: .*, HTTP on [0-9.]*:\([0-9]*\) .*/\1/p' "serve.$job.out")
  address=$(scontrol -o show node h1 | sed 's/.* NodeAddr=\([^ ]*\) .*/\1/')
  grep -q "ready: requests on $address:$port, " "serve.$job.out" || fail 'not the address of h1'
}

# scores FILE: prints the scores of a response.
scores() { grep -o '"scores":[^a-z]*' "$1"; }

"$cluster/slurm-up.sh" up 2 netns > up.out 2>&1
eval "$("$cluster/slurm-up.sh" env)"

echo 'batch: the file is scored, and the exit code says whether every line was'
cat > in.jsonl << 'LINES'
{"custom_id":"a","method":"POST","url":"/v1/score","body":{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}}
LINES
(cat in.jsonl && echo '{}') > bad.jsonl
for input in in bad; do
  job=$(sbatch --parsable --output=batch.%j.out "$scripts/batch.sbatch" "$model" $input.jsonl $input.out.jsonl)
  if test $input = in; then
    expect_end "$job" 'COMPLETED 0'
  else
    expect_end "$job" 'FAILED 3'
  fi
  grep -q '2 ranks' "batch.$job.out" || fail 'not one rank per node'
  test -n "$(scores $input.out.jsonl)" || fail 'no scores'
done

echo 'serve: the scores are the same over the network, and the service drains'
serve
"$SCORECAST" score --json --connect "$address:$port" --query 'The capital of France is' \
  --item ' Paris' --item ' London' --label ' yes' --label ' no' > response.json
test "$(scores response.json)" = "$(scores in.out.jsonl)" || fail 'serve and batch differ'
curl -sS --json '{"query":"The capital of France is","items":[" Paris"," London"],"labels":[" yes"," no"]}' \
  "http://$address:$http_port/v1/score" > response.json
test "$(scores response.json)" = "$(scores in.out.jsonl)" || fail 'HTTP and batch differ'
scancel --batch --signal=USR1 "$job"
expect_end "$job" 'COMPLETED 0'
grep -q stopped "serve.$job.out" || fail 'no drain'

echo 'serve: scancel also drains the service'
serve
scancel "$job"
expect_end "$job" 'CANCELLED 0'
grep -q stopped "serve.$job.out" || fail 'no drain'

echo 'serve: a rank is killed, and the service comes back'
serve
starts=1
ready_again() { test "$(grep -c 'ready: .* (host h1)$' "serve.$job.out")" -eq "$starts"; }
scored() {
  "$SCORECAST" score --json --connect "$address:$port" --query 'The capital of France is' \
    --item ' Paris' --item ' London' --label ' yes' --label ' no' > response.json
}
# srun kills the other ranks as soon as it notices. On a busy machine they may be killed before they can
# print the message, hence three tries.
for rank in 0 1; do
  for try in 1 2 3; do
    # Ranks have PMIX_RANK, the supervisor has not.
    on h$((rank + 1)) bash -c 'for pid in $(pgrep -x scorecast); do
      ! grep -qz ^PMIX_RANK= /proc/$pid/environ || kill -KILL $pid; done'
    starts=$((starts + 1))
    eventually ready_again
    eventually scored
    test "$(scores response.json)" = "$(scores in.out.jsonl)" || fail 'other scores after a restart'
    ! grep -q "rank $rank is gone" "serve.$job.out" || continue 2
  done
  fail "rank $rank was not named in $try tries"
done
scancel --batch --signal=USR1 "$job"
expect_end "$job" 'COMPLETED 0'

echo 'serve: a node dies'
serve
"$cluster/slurm-up.sh" node-stop h2
eventually grep -q 'rank 1 is gone' "serve.$job.out"
# Slurm would notice by itself only after SlurmdTimeout.
scontrol update NodeName=h2 State=DOWN Reason=test
"$cluster/netns-up.sh" boot h2
expect_end "$job" 'NODE_FAIL *'
