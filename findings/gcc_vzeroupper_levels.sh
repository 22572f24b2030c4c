#!/bin/sh
# GCC 12 obeys -mvzeroupper at -O2 only.
#
# vzeroupper at the end of a function that uses AVX marks the upper halves of the vector registers as unused. GCC's manual
# says of -mvzeroupper that it makes GCC emit the instruction, and names no optimisation level. One could guess that the
# option holds at every level, as most -m options do, or at every level but -O0.
#
# Seen with GCC 12.2.0 (Debian's cpp-12 12.2.0-14+deb12u1, its C compiler cc1), for a function that doubles vectors of 32
# bytes, with -mavx2 -mvzeroupper: no vzeroupper at -O0, -Og, -O1 and -Os, and no message; one at -O2, and one at -O1 with
# -fexpensive-optimizations. A program whose AVX code is compiled at -O1 therefore leaves the upper halves in use, and its
# code for SSE, libm's exp among it, is slower until other code clears them: three to four times in tests of this
# repository, on a Sapphire Rapids.
#
# Needs Debian 12 on x86-64, apt-get and dpkg. Exits with 0 if GCC still behaves so.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download cpp-12=12.2.0-14+deb12u1 libisl23 libmpc3 libmpfr6 libgmp10 libzstd1
for package in ./*.deb; do
  dpkg -x "$package" root
done
cat > twice.c << 'SOURCE'
typedef float Vector __attribute__((vector_size(32)));
void Twice(Vector *x, int n) {
  for (int i = 0; i < n; ++i) x[i] += x[i];
}
SOURCE

# count FLAG…: how many vzeroupper the function has.
count() {
  LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu root/usr/lib/gcc/x86_64-linux-gnu/12/cc1 \
    -quiet -mavx2 -mvzeroupper "$@" twice.c -o twice.s
  grep -c vzeroupper twice.s || true
}

status=0
# expect COUNT FLAG…
expect() {
  expected=$1
  shift
  found=$(count "$@")
  echo "$*: $found vzeroupper"
  test "$found" -eq "$expected" || status=1
}
expect 0 -O0
expect 0 -Og
expect 0 -O1
expect 0 -Os
expect 1 -O2
expect 1 -O1 -fexpensive-optimizations
test "$status" -eq 0 || echo 'This is not what was seen.' >&2
exit "$status"
