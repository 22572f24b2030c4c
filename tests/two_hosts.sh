# Sourced by tests that need two hosts, h1 and h2, which SHARED_DIR/cluster makes of network namespaces:
#
#   . two_hosts.sh SHARED_DIR PROGRAM...
#
# Prints "SKIP: ..." and ends the test if SHARED_DIR has no cluster or model, if the user is not root, if
# a program is missing, or if such hosts are up already, because they belong to another test. Otherwise
# changes to $work, a directory that is removed at the end, and sets $cluster and $model. The test
# brings up the hosts; its function `take_down` is called at the end. If the test fails because the program
# $SCORECAST crashed in $work, and gdb is installed, the output ends with the functions that were active.
set -eu

cluster=$1/cluster
model=$1/models/qwen3-tiny

skip() {
  echo "SKIP: $1"
  exit 0
}
test "$(id -u)" -eq 0 || skip 'network namespaces need root'
test -d "$cluster" && test -d "$model" || skip "no cluster or no model in $1"
shift
for program in ip ping pgrep "$@"; do
  command -v "$program" > /dev/null || skip "$program is not installed"
done
test ! -e /run/hpcnet || skip 'such hosts are up on this machine already'

work=$(mktemp -d)
chmod 755 "$work" # Daemons of other users need access to it.
cd "$work"
failure=
trap 'failure="line $LINENO of ${BASH_SOURCE##*/}: $BASH_COMMAND"' ERR
ulimit -c unlimited
print_crashes() {
  local core
  for core in "$work"/core*; do
    if test -e "$core" && test -n "${SCORECAST:-}" && command -v gdb > /dev/null; then
      echo "crashed: ${core##*/}"
      timeout 60 gdb -batch -ex 'backtrace 16' "$SCORECAST" "$core" 2> /dev/null | grep '^#' || true
    fi
  done
}
end() {
  status=$?
  trap '' INT TERM
  if test $status -ne 0; then
    tail -n 50 "$work"/*.out
    print_crashes
    echo "FAILED: $failure"
  fi
  take_down > /dev/null 2>&1
  rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

fail() {
  failure=$1
  exit 1
}

# eventually COMMAND...: repeats the command until it succeeds; fails after $patience seconds.
patience=60
eventually() {
  local i
  for ((i = 0; i < 10 * patience; ++i)); do
    if "$@" > /dev/null 2>&1; then
      return
    fi
    sleep 0.1
  done
  fail "$*"
}

# on HOST COMMAND...: runs the command on the host.
on() { "$cluster/netns-up.sh" exec "$@"; }

# ranks_on HOST: prints the process ids of the host's ranks; false if there are none.
ranks_on() { on "$1" pgrep -x scorecast; }
none_on() { ! ranks_on "$1"; }
