# Sourced by tests that want two hosts, h1 and h2, made of network namespaces by SHARED_DIR/cluster:
#
#   . two_hosts.sh SHARED_DIR PROGRAM…
#
# Prints "SKIP: …" and ends the test where that, root's rights or a program (besides those of the
# hosts) are missing, or such hosts are up already: one test has them at a time, and none touches
# another's. The test goes on in $work, a directory that goes with it, and brings up what it needs;
# at its end `take_down` of the test is called. Sets $cluster and $model.
set -eu

cluster=$1/cluster
model=$1/models/qwen3-tiny

skip() {
  echo "SKIP: $1"
  exit 0
}
test "$(id -u)" -eq 0 || skip 'network namespaces want root'
test -d "$cluster" && test -d "$model" || skip "no cluster or no model in $1"
shift
for program in ip ping pgrep "$@"; do
  command -v "$program" > /dev/null || skip "$program is not installed"
done
test ! -e /run/hpcnet || skip 'such hosts are up on this machine already'

work=$(mktemp -d)
chmod 755 "$work" # Daemons of other users go through it.
cd "$work"
end() {
  status=$?
  trap '' INT TERM
  if test $status -ne 0; then
    tail -n 50 "$work"/*.out
  fi
  take_down > /dev/null 2>&1
  rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

fail() {
  echo "FAILED: $1"
  exit 1
}

# eventually COMMAND…: until it succeeds, for at most a minute.
eventually() {
  local i
  for ((i = 0; i < 600; ++i)); do
    if "$@" > /dev/null 2>&1; then
      return
    fi
    sleep 0.1
  done
  fail "$*"
}

# on HOST COMMAND…
on() { "$cluster/netns-up.sh" exec "$@"; }

# ranks_on HOST: prints their process ids there; false where there are none.
ranks_on() { on "$1" pgrep -x scorecast; }
none_on() { ! ranks_on "$1"; }
