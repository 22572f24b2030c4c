#!/bin/sh
# Checks that each test has the same name in every build and on every machine. GoogleTest prints the
# parameter of a test as a part of its name: raw bytes if the type has no PrintTo, the address of a
# const char* in a tuple, and the place of the sources if it is a path. Such a name cannot be given to
# `ctest -R`, nor be found in the results of another run.
#
#   test_names.sh CTEST BUILD SOURCES  lists such names; exit code 1 if there are any
#   test_names.sh --self-check         plants one of each kind and expects to see it
set -u

# list SOURCES: reads what `ctest -N` prints.
list() {
  awk -v sources="$1/" '
    match($0, /^ *Test +#[0-9]+: /) {
      ++tests
      name = substr($0, RLENGTH + 1)
      if (name ~ /[0-9]-byte object </) reason = "raw bytes"
      else if (name ~ /0x[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]/) reason = "an address"
      else if (index(name, sources)) reason = "the path of the sources"
      else next
      print reason " in the name of " name
      bad = 1
    }
    END { if (!tests) { print "no tests"; exit 2 } exit bad }'
}

# expect STATUS NAME
expect() {
  output=$(printf '  Test   #7: %s\n  Test  #10: last\n' "$2" | list /src)
  status=$?
  if test "$status" -ne "$1"; then
    echo "$2: expected status $1, got $status"
    printf '%s\n' "$output"
    failed=1
  fi
}

self_check() {
  failed=0
  expect 0 'a_test.Suite.Case'
  expect 0 'a_test.All/Suite.Case/f32  # GetParam() = f32'
  expect 0 'a_test.All/Suite.Case/tests/3'
  expect 0 'a_test.All/Suite.Case/0x10'
  expect 1 'a_test.All/Suite.Case/f32  # GetParam() = 40-byte object <C0-69 09-56>'
  expect 1 'a_test.All/Suite.Case/0  # GetParam() = (1-byte object <00>, "f32")'
  expect 1 'a_test.All/Suite.Case/1_f32  # GetParam() = (1, 0x55d454ffcd10 pointing to "f32")'
  expect 1 'a_test.All/Suite.Case/"/src/tests/golden/families/qwen3"'
  if printf 'Total Tests: 0\n' | list /src > /dev/null; then
    echo "a build without tests passes"
    failed=1
  fi
  exit "$failed"
}

case $#,${1-} in
  1,--self-check) self_check ;;
  3,*) "$1" --test-dir "$2" -N 2> /dev/null | list "$3" ;;
  *) echo "usage: $0 CTEST BUILD SOURCES | --self-check" >&2; exit 2 ;;
esac
