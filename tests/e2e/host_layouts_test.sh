#!/bin/bash
# Four ranks give the same bits, whichever of them share a host. If one of them dies while the others of its
# host wait for it, the job ends. The hosts are network namespaces, which this test makes and removes.
#
#   host_layouts_test.sh SCORECAST SHARED_DIR
#
# tests/two_hosts.sh names its requirements. Without them the test is skipped.
here=$(cd "$(dirname "$0")" && pwd)
scorecast=$1
take_down() { "$cluster/netns-up.sh" down; }
. "$here/../two_hosts.sh" "$2" mpirun

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for i in $(seq 6); do
  printf '{"custom_id":"%d","method":"POST","url":"/v1/score","body":{"query":"%s","items":[" one"," two three","%s"],"labels":[" yes"," no"]}}\n' \
    "$i" "$(seq -s ' ' "$i" 60)" "$(seq -s ' ' 9)"
done > requests.jsonl

ranks=4
flags=
# run DTYPE INPUT OUTPUT MPIRUN_OPTION...: computes the lines of INPUT on so many ranks, with the flags.
run() {
  local dtype=$1 input=$2 output=$3
  shift 3
  mpirun --mca orte_tmpdir_base "$work" --mca mpi_yield_when_idle 1 --bind-to none -n $ranks "$@" "$scorecast" batch \
    --model "$model" --dtype "$dtype" $flags --input "$input" --output "$output"
}

# scores NAME DTYPE HOW MPIRUN_OPTION...: writes the ranks' responses to NAME.scores. HOW is how the log says
# that they exchange sums.
scores() {
  local name=$1 dtype=$2 how=$3
  shift 3
  run "$dtype" requests.jsonl - "$@" > "$name.jsonl" 2> "$name.out"
  test -z "$how" || grep -qF "sums by $how" "$name.out" || fail "$name: sums not by $how"
  sed 's/"timings":{[^}]*}//' "$name.jsonl" | sort > "$name.scores"
  test "$(grep -c '"status_code":200' "$name.scores")" -eq 6 || fail "$name: not every request has scores"
}

"$cluster/netns-up.sh" up 4 > up.out
. "$cluster/mpi-net.sh"
"$cluster/netns-up.sh" hostfile 1 > four_hosts
"$cluster/netns-up.sh" hostfile 2 | head -n 2 > two_hosts
{ head -n 1 two_hosts; sed -n 2,3p four_hosts; } > three_hosts # Of two, one and one rank.
printf '10.77.0.1 slots=1\n10.77.0.2 slots=3\n' > lopsided_hosts
printf '10.77.0.1 slots=3\n10.77.0.2 slots=3\n' > hosts_of_three

for dtype in f32 bf16 int8; do
  echo "$dtype"
  scores one "$dtype" 'shared window' --oversubscribe
  scores two "$dtype" 'messages (2 hosts of 2 ranks)' "${MPINET[@]}" --hostfile two_hosts
  scores four "$dtype" 'messages (several hosts)' "${MPINET[@]}" --hostfile four_hosts
  scores in_turn "$dtype" 'messages (the ranks of a host are not consecutive)' "${MPINET[@]}" --hostfile two_hosts --map-by node
  scores uneven "$dtype" 'messages (hosts with different numbers of ranks)' "${MPINET[@]}" --hostfile three_hosts
  for name in two four in_turn uneven; do
    cmp one.scores "$name.scores" || fail "$dtype: $name differs from one host"
  done
done

# One of the dtypes is enough: these exchange as uneven hosts do, for other reasons.
echo 'one and three ranks'
scores one bf16 'shared window' --oversubscribe
scores lopsided bf16 'messages (hosts with different numbers of ranks)' "${MPINET[@]}" --hostfile lopsided_hosts
cmp one.scores lopsided.scores || fail 'one and three ranks differ from one host'

# Without the flag, other numbers of ranks would give other bits. tests/mpi has the other dtypes.
echo 'any number of ranks'
flags=--rank-invariant
ranks=1 scores alone bf16 '' --oversubscribe
ranks=3 scores three bf16 'messages (hosts with different numbers of ranks)' "${MPINET[@]}" --hostfile two_hosts
ranks=6 scores two_of_three bf16 'messages (2 hosts of 3 ranks)' "${MPINET[@]}" --hostfile hosts_of_three
for name in three two_of_three; do
  cmp alone.scores "$name.scores" || fail "$name differs from one rank"
done
! cmp -s alone.scores one.scores || fail 'the flag changes nothing'
flags=

echo 'a host without room for a window'
on h2 mount -o remount,size=8m /dev/shm
scores full bf16 'messages (/dev/shm has ' "${MPINET[@]}" --hostfile two_hosts
on h2 mount -o remount,size=2g /dev/shm
cmp one.scores full.scores || fail 'a host without a window differs from one host'

echo 'a rank dies while its host waits for it'
items=$(printf '," x%d"' $(seq 100))
for i in $(seq 2000); do
  echo '{"custom_id":"'"$i"'","method":"POST","url":"/v1/score","body":{"query":"q","items":["x"'"$items"'],"labels":[" yes"," no"]}}'
done > long.jsonl
run bf16 long.jsonl killed.jsonl "${MPINET[@]}" --hostfile two_hosts > killed.out 2>&1 &
job=$!
eventually test -s killed.jsonl
# The other ranks of the host wait for a stopped one in shared memory.
on h2 sh -c 'kill -STOP $(pgrep -x -n scorecast)'
sleep 1
on h2 sh -c 'kill -KILL $(pgrep -x -n scorecast)'
eventually sh -c "! kill -0 $job"
status=0
wait "$job" || status=$?
test $status -ne 0 || fail 'mpirun ended with 0'
grep -qE 'rank [23] is gone|exited on signal 9' killed.out || fail 'nothing says which rank is gone'
for host in h1 h2; do
  eventually none_on "$host"
  on "$host" sh -c '! ls /dev/shm | grep osc_sm' || fail "a window's file stays on $host"
done
