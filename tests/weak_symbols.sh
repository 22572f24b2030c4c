#!/bin/sh
# Checks that no object that needs a newer CPU has a weak symbol. The linker takes one definition of a
# weak symbol for the whole program, such as that of an instance of a std:: template. If it took one
# that was compiled for AVX-512, the program would crash on an older CPU.
#
#   weak_symbols.sh NM LIBRARY    lists the weak symbols; exit code 1 if there are any
#   weak_symbols.sh --self-check  plants one of each kind and expects to see it
set -u

# Reads what nm prints of the library. Such objects are the kernels, without the generic ones, those for
# AMX, and the benches' loops of instructions. W and V are weak, u is unique in the program; w and v are only
# references. DW.ref… is the address of a function of the C++ runtime, which is the same in every
# object.
list() {
  awk '
    /\.o:$/ { object = $0; checked = /^kernels_/ && !/^kernels_generic/ || /^(avx|amx).*_loops|^amx_blocks/; if (checked) seen = 1 }
    checked && match($0, /^[0-9a-f]+ [WVu] /) && !/ V DW\.ref\./ { print object, substr($0, RSTART + RLENGTH); weak = 1 }
    END { if (!seen) { print "no objects that need a newer CPU"; exit 2 } exit weak }'
}

# expect STATUS OBJECT LINE
expect() {
  output=$(printf '\n%s:\n%s\n' "$2" "$3" | list)
  status=$?
  if test "$status" -ne "$1"; then
    echo "$2 with $3: expected status $1, got $status"
    printf '%s\n' "$output"
    failed=1
  fi
}

self_check() {
  failed=0
  expect 0 kernels_avx2.cc.o '0000000000000000 T scorecast::f()'
  expect 0 kernels_avx2.cc.o '0000000000000000 t scorecast::f()'
  expect 0 kernels_avx2.cc.o '                 w __gmon_start__'
  expect 0 kernels_avx2.cc.o '0000000000000000 V DW.ref.__gxx_personality_v0'
  expect 1 kernels_avx2.cc.o '0000000000000000 W int const* std::max_element<int const*>(int const*)'
  expect 1 kernels_avx512_bf16.cc.o '0000000000000010 V vtable for f'
  expect 1 kernels_avx512_bf16.cc.o '0000000000000010 u scorecast::shard::kNoScore'
  expect 2 kernels_generic.cc.o '0000000000000000 W int const* std::max_element<int const*>(int const*)'
  expect 1 avx512_loops.cc.o '0000000000000000 W int std::accumulate<int*, int>(int*, int*, int)'
  expect 1 amx_blocks.cc.o '0000000000000010 W std::min<long>()'
  expect 0 amx_loops.cc.o '0000000000000000 T f()'
  expect 2 instruction_loops.cc.o '0000000000000000 W f()'
  expect 2 other.cc.o '0000000000000000 W f()'
  exit "$failed"
}

case $#,${1-} in
  1,--self-check) self_check ;;
  2,*) "$1" -C "$2" | list ;;
  *) echo "usage: $0 NM LIBRARY | --self-check" >&2; exit 2 ;;
esac
