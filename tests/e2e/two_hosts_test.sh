#!/bin/bash
# Runs scorecast on two hosts, which are network namespaces that this test makes and removes. Rank 0
# has addresses that the other host cannot reach; later, a host loses its power.
#
#   two_hosts_test.sh SCORECAST SHARED_DIR
#
# tests/two_hosts.sh names its requirements. Without them the test is skipped.
here=$(cd "$(dirname "$0")" && pwd)
scorecast=$1
params=$(cd "$here/../../launcher" && pwd)/openmpi-mca-params.conf
job=
take_down() {
  test -z "$job" || kill -KILL "$job" || true
  "$cluster/netns-up.sh" down
}
. "$here/../two_hosts.sh" "$2" mpirun

# serve NAME [MPIRUN_OPTION...]: starts a service over both hosts, with its output in NAME.out.
serve() {
  local name=$1
  shift
  mpirun "${MPINET[@]}" --mca orte_tmpdir_base "$work" --bind-to none --hostfile hosts -n 2 "$@" \
    "$scorecast" serve --model "$model" --host 0.0.0.0 --insecure --port 0 --http-port -1 \
    --address-file "$name.json" > "$name.out" 2>&1 &
  job=$!
  # Not one of the addresses that h2 cannot reach.
  eventually grep -q 'ready: requests on 10\.77\.0\.1:[0-9]* (host h1)$' "$name.out"
}

# reachable HOST: waits until the bridge forwards to the host again.
reachable() { eventually ping -c 1 -W 1 "10.77.0.${1#h}"; }

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

echo 'start: rank 0 has addresses that cannot be reached'
# Their route goes through a host that does not exist. Trying so many one after another would take
# too long.
for i in $(seq 20); do
  on h1 ip address add "10.99.0.$i/32" dev lo
done
on h2 ip route add 10.99.0.0/24 via 10.77.0.77
serve start

echo 'a client on the other host finds the service by its file'
on h2 "$scorecast" score --connect-file "$work/start.json" --query q --item a --label ' yes' > score.out 2>&1 ||
  fail 'no scores'
kill -USR1 "$job"
ends
test $status -eq 0 || fail "a drain over two hosts ended with $status"
test ! -e start.json || fail 'the address file was not removed'

echo 'a host lacks the weights, or has a part of them'
cp -r "$model" "$work/other"
# refused MESSAGE: h2 has the files of other/, and the service ends with this message of its rank.
refused() {
  on h2 mount --bind "$work/other" "$model"
  status=0
  timeout 60 mpirun "${MPINET[@]}" --mca orte_tmpdir_base "$work" --bind-to none --hostfile hosts -n 2 \
    "$scorecast" serve --model "$model" --port 0 --http-port -1 > refused.out 2>&1 || status=$?
  on h2 umount "$model"
  test $status -ne 0 || fail 'mpirun ended with 0'
  grep -qE "^scorecast: rank 1: $model$1" refused.out || fail "nothing says: $1"
  test "$(grep -c '^scorecast: ' refused.out)" -eq 1 || fail 'there is another message'
  ! grep -q 'ready: requests' refused.out || fail 'it was ready nevertheless'
}
truncate -s -4 "$work/other/model.safetensors"
refused '/model.safetensors: truncated'
rm "$work/other/model.safetensors"
refused ': neither model.safetensors nor model.safetensors.index.json is there'

echo 'power loss: the doorbell ends the other rank'
serve loss
"$cluster/netns-up.sh" crash h2
eventually grep -q 'scorecast: rank 1 is gone: the job ends' loss.out
eventually none_on h1
test ! -e loss.json || fail 'the address file was not removed'
kill -KILL "$job" # mpirun waits for the lost host.
ends 2> /dev/null
"$cluster/netns-up.sh" boot h2
reachable h2

# The shipped file must reach mpirun's daemon on the other host, too.
export OMPI_MCA_mca_base_param_files=$params,/etc/openmpi/openmpi-mca-params.conf

echo 'power loss: mpirun ends the job if it notices before the doorbell'
serve fast
"$cluster/netns-up.sh" crash h2
eventually none_on h1
ends
test $status -ne 0 || fail 'mpirun ended with 0'
grep -q 'ORTE has lost communication' fast.out || fail 'it was not mpirun that noticed'
"$cluster/netns-up.sh" boot h2
reachable h2

# With defaults, mpirun and its daemon would wait for minutes.
for host in h1 h2; do
  echo "the network of $host is lost: no process stays on either host"
  serve "$host"
  sleep 2 # The system does not probe a connection while the line of the log that was sent last is not acknowledged.
  "$cluster/netns-up.sh" link "$host" down
  ends
  test $status -ne 0 || fail 'mpirun ended with 0'
  for other in h1 h2; do
    eventually none_on "$other"
    eventually sh -c "! '$cluster/netns-up.sh' exec $other pgrep -x orted"
  done
  "$cluster/netns-up.sh" link "$host" up
  reachable "$host"
done
