#!/bin/sh
# Checks that each case of a GoogleTest program has the same name in every build and on every machine. GoogleTest
# prints the parameter of a case as a part of its name: raw bytes if the type has no PrintTo, the address of a
# const char* in a tuple, and the place of the sources if it is a path. Such a name cannot be found in the results of
# another run.
#
#   test_names.sh PROGRAMS SOURCES  lists such names of the programs that the file PROGRAMS names, if they are built;
#                                   exit code 1 if there are any
#   test_names.sh --self-check      plants one of each kind and expects to see it
set -u

# list SOURCES: reads what programs print with --gtest_list_tests: a suite, and its cases indented below it.
list() {
  awk -v sources="$1/" '
    /^[^ ]/ { suite = $1 }
    /^ / {
      ++cases
      name = suite substr($0, 3)
      if (name ~ /[0-9]-byte object </) reason = "raw bytes"
      else if (name ~ /0x[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]/) reason = "an address"
      else if (index(name, sources)) reason = "the path of the sources"
      else next
      print reason " in the name of " name
      bad = 1
    }
    END { if (!cases) { print "no cases"; exit 2 } exit bad }'
}

# programs FILE: lists the cases of the programs that are built.
programs() {
  while read -r program; do
    if test -x "$program"; then
      "$program" --gtest_list_tests
    fi
  done < "$1"
}

# expect STATUS CASE
expect() {
  output=$(printf 'All/Suite.\n  %s\n  Last\n' "$2" | list /src)
  status=$?
  if test "$status" -ne "$1"; then
    echo "$2: expected status $1, got $status"
    printf '%s\n' "$output"
    failed=1
  fi
}

self_check() {
  failed=0
  expect 0 'Case'
  expect 0 'Case/f32  # GetParam() = f32'
  expect 0 'Case/tests/3'
  expect 0 'Case/0x10'
  expect 1 'Case/f32  # GetParam() = 40-byte object <C0-69 09-56>'
  expect 1 'Case/0  # GetParam() = (1-byte object <00>, "f32")'
  expect 1 'Case/1_f32  # GetParam() = (1, 0x55d454ffcd10 pointing to "f32")'
  expect 1 'Case/"/src/tests/golden/families/qwen3"'
  if printf 'Suite.\n' | list /src > /dev/null; then
    echo "programs without cases pass"
    failed=1
  fi
  exit "$failed"
}

case $#,${1-} in
  1,--self-check) self_check ;;
  2,*) programs "$1" | list "$2" ;;
  *) echo "usage: $0 PROGRAMS SOURCES | --self-check" >&2; exit 2 ;;
esac
