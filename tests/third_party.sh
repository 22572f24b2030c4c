#!/bin/sh
# Checks that THIRD-PARTY names every shared library that the executable needs, and every package that
# CMake looks for outside of tests and benches, and no package that CMake does not look for.
#
#   third_party.sh READELF EXECUTABLE TREE  lists what is wrong; exit code 1 if there is anything
#   third_party.sh --self-check             plants one of each kind and expects to see it
set -u

# Names of readelf's lines, without versions: libfmt.so.9 is libfmt.so, and ld-linux-x86-64.so.2 is
# ld-linux-*.so. A sanitizer's runtime is not one that is passed on.
libraries() {
  sed -n 's/.*(NEEDED).*\[\(.*\.so\)[.0-9]*\]$/\1/p' | sed 's/^ld-linux.*/ld-linux-*.so/' |
    grep -vE '^lib(asan|lsan|tsan|ubsan)\.so$' | sort -u
}

# Names of the packages that the CMake files ask for. PkgConfig only finds others.
packages() {
  sed -n -e 's/^ *find_package(\([A-Za-z0-9_-]*\).*/\1/p' -e 's/^ *pkg_check_modules(.* \([^ ]*\))$/\1/p' |
    grep -vx PkgConfig | sort -u
}

# column NUMBER OF: what is quoted in a column of the tables that have OF columns. (awk counts one
# more before the first bar, and one behind the last.)
column() {
  awk -F '|' -v number="$1" -v of="$2" 'NF == of + 2 { print $(number + 1) }' |
    grep -o '`[^`]*`' | tr -d '`' | sort -u
}

# check LIBRARIES PACKAGES THIRD_PARTY, of which each is a text
check() {
  named_libraries=$(printf '%s\n' "$3" | column 5 7)
  named_packages=$( (printf '%s\n' "$3" | column 5 6; printf '%s\n' "$3" | column 6 7) | sort -u)
  wrong=0
  for library in $1; do
    printf '%s\n' "$named_libraries" | grep -qxF -- "$library" ||
      { echo "THIRD-PARTY does not name $library, which the executable needs"; wrong=1; }
  done
  for package in $2; do
    printf '%s\n' "$named_packages" | grep -qxF -- "$package" ||
      { echo "THIRD-PARTY does not name $package, which CMake looks for"; wrong=1; }
  done
  for package in $named_packages; do
    printf '%s\n' "$2" | grep -qxF -- "$package" ||
      { echo "THIRD-PARTY names $package, which CMake does not look for"; wrong=1; }
  done
  if test -z "$1" || test -z "$2"; then
    echo "no libraries or no packages found"
    return 2
  fi
  return $wrong
}

# expect STATUS READELF'S_LINES CMAKE'S_LINES
expect() {
  table='| a | 1 | `liba-dev` | MIT | `A` | |
| b | 1 | `libb1` | MIT | `libb.so`, `ld-linux-*.so` | `libb-2` | |'
  output=$(check "$(printf '%s\n' "$2" | libraries)" "$(printf '%s\n' "$3" | packages)" "$table")
  status=$?
  if test "$status" -ne "$1"; then
    echo "with $2 and $3: expected status $1, got $status"
    printf '%s\n' "$output"
    failed=1
  fi
}

self_check() {
  failed=0
  b=' 0x01 (NEEDED)             Shared library: [libb.so.1.10]'
  cmake='find_package(A 1.74 REQUIRED)  # Comment
  pkg_check_modules(b REQUIRED IMPORTED_TARGET libb-2)
find_package(PkgConfig REQUIRED)'
  expect 0 "$b" "$cmake"
  expect 0 "$b
 0x01 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
 0x01 (NEEDED)             Shared library: [libasan.so.8]" "$cmake"
  expect 1 "$b
 0x01 (NEEDED)             Shared library: [libc++.so.6]" "$cmake"
  expect 1 ' 0x01 (NEEDED)             Shared library: [lib.so.6]' "$cmake"
  expect 1 "$b" "$cmake
find_package(ZLIB REQUIRED)"
  expect 1 "$b" "$cmake
pkg_check_modules(c REQUIRED IMPORTED_TARGET libb)"
  expect 1 "$b" 'find_package(A REQUIRED)'
  expect 2 '' "$cmake"
  expect 2 "$b" ''
  exit "$failed"
}

case $#,${1-} in
  1,--self-check) self_check ;;
  3,*)
    cd "$3" || exit 2
    cmake=$(find CMakeLists.txt coordinator launcher proto shard -name CMakeLists.txt -exec cat {} +)
    check "$("$1" -d "$2" | libraries)" "$(printf '%s\n' "$cmake" | packages)" "$(cat THIRD-PARTY)"
    ;;
  *) echo "usage: $0 READELF EXECUTABLE TREE | --self-check" >&2; exit 2 ;;
esac
