#!/bin/bash
# Four ranks give the same bits, whichever of them share a host. The hosts are network namespaces, which
# this test makes and removes.
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
    "$i" "$(seq -s ' ' "$i" 40)" "$(seq -s ' ' 9)"
done > requests.jsonl

# scores NAME DTYPE HOW MPIRUN_OPTION...: writes the responses of four ranks to NAME.scores. HOW is how the
# log says that they exchange sums.
scores() {
  local name=$1 dtype=$2 how=$3
  shift 3
  mpirun --mca orte_tmpdir_base "$work" --mca mpi_yield_when_idle 1 --bind-to none -n 4 "$@" "$scorecast" batch \
    --model "$model" --dtype "$dtype" --input requests.jsonl --output - > "$name.jsonl" 2> "$name.out"
  grep -qF "sums by $how" "$name.out" || fail "$name: sums not by $how"
  sed 's/"timings":{[^}]*}//' "$name.jsonl" | sort > "$name.scores"
  test "$(grep -c '"status_code":200' "$name.scores")" -eq 6 || fail "$name: not every request has scores"
}

"$cluster/netns-up.sh" up 4 > up.out
. "$cluster/mpi-net.sh"
"$cluster/netns-up.sh" hostfile 1 > four_hosts
"$cluster/netns-up.sh" hostfile 2 | head -n 2 > two_hosts
{ head -n 1 two_hosts; sed -n 2,3p four_hosts; } > three_hosts # Of two, one and one rank.

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
