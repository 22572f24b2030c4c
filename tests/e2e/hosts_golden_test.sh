#!/bin/bash
# Runs end-to-end tests with the ranks on two hosts, which are network namespaces that this test makes and removes.
#
#   hosts_golden_test.sh SHARED_DIR PROGRAM FILTER [PROGRAM FILTER...]
#
# FILTER names cases of PROGRAM that send requests by files, because hosts have loopbacks of their own.
# tests/two_hosts.sh names the requirements. Without them the test is skipped.
here=$(cd "$(dirname "$0")" && pwd)
take_down() { "$cluster/netns-up.sh" down; }
. "$here/../two_hosts.sh" "$1" mpirun
shift

"$cluster/netns-up.sh" up 2 > up.out
"$cluster/netns-up.sh" hostfile 2 > hosts
. "$cluster/mpi-net.sh"
SCORECAST_TEST_MPIRUN=$(printf '%s\n' "${MPINET[@]}" --hostfile "$work/hosts" --mca orte_tmpdir_base "$work" --mca mpi_yield_when_idle 1)
export SCORECAST_TEST_MPIRUN

# received: prints how many bytes h2 has received from other hosts.
received() { on h2 awk '/:/ && !/ lo:/ { sum += $2 } END { printf "%d\n", sum }' /proc/net/dev; }

while test $# -gt 0; do
  before=$(received)
  "$1" --gtest_filter="$2" > tests.out 2>&1 || { grep -vE '^\[ +(RUN|OK) ' tests.out; fail "$1"; }
  grep -E '^\[ +(PASSED|SKIPPED) ' tests.out
  # A filter that names nothing passes, too.
  grep -qE '^\[  PASSED  \] [1-9]' tests.out || fail "$1: no case passed"
  test "$(received)" -gt $((before + 1000000)) || fail "$1: the ranks of h2 have received next to nothing"
  shift 2
done
