#!/bin/bash
# scorecast on two hosts (network namespaces that this test makes and removes): rank 0 with networks
# that the other host does not reach, and a host that loses its power.
#
#   two_hosts_test.sh SCORECAST SHARED_DIR
#
# See tests/two_hosts.sh for what it wants, and is skipped without.
here=$(cd "$(dirname "$0")" && pwd)
scorecast=$1
job=
take_down() {
  test -z "$job" || kill -KILL "$job"
  "$cluster/netns-up.sh" down
}
. "$here/../two_hosts.sh" "$2" mpirun

# serve NAME [OPTION OF mpirun…]: starts a service over both hosts, with its output in NAME.out.
serve() {
  local name=$1
  shift
  mpirun "${MPINET[@]}" --mca orte_tmpdir_base "$work" --bind-to none --hostfile hosts -n 2 "$@" \
    "$scorecast" serve --model "$model" --host 0.0.0.0 --port 0 > "$name.out" 2>&1 &
  job=$!
  eventually grep -q 'ready: requests on h1:' "$name.out"
}

# ends: waits for mpirun, and sets status.
ends() {
  eventually sh -c "! kill -0 $job"
  status=0
  wait "$job" || status=$?
  job=
}

"$cluster/netns-up.sh" up 2 > up.out
"$cluster/netns-up.sh" hostfile 1 > hosts
. "$cluster/mpi-net.sh"

echo 'start: past addresses of rank 0 that lead nowhere'
# More than there would be time for one after another: the way there goes by a host that is not.
for i in $(seq 20); do
  on h1 ip address add "10.99.0.$i/32" dev lo
done
on h2 ip route add 10.99.0.0/24 via 10.77.0.77
serve start
kill -USR1 "$job"
ends
test $status -eq 0 || fail "a drain over two hosts ended with $status"

echo 'power loss: the doorbell ends the other rank'
serve loss
"$cluster/netns-up.sh" crash h2
eventually grep -q 'scorecast: rank 1 is gone: the job ends' loss.out
eventually none_on h1
kill -KILL "$job" # It waits for the host that is lost.
ends 2> /dev/null
"$cluster/netns-up.sh" boot h2

echo 'power loss: mpirun ends the job where it looks faster than the doorbell'
serve fast --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 \
  --mca oob_tcp_keepalive_probes 3
"$cluster/netns-up.sh" crash h2
eventually none_on h1
ends
test $status -ne 0 || fail 'mpirun ended with 0'
