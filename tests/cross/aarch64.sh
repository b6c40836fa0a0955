#!/bin/bash
# Tests of the capture core, compiled for AArch64 and run by qemu's user mode: call paths, rules, records. Addresses
# are signed there (-mbranch-protection=standard, which -cpu max checks), or not.
#
#   aarch64.sh SOURCE GENERATED CALLS
set -euo pipefail
source=$1 generated=$2 calls=$3
compiler=aarch64-linux-gnu-gcc
for tool in $compiler qemu-aarch64; do
    command -v $tool >/dev/null || { echo "no $tool here"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=gnu17 -D_GNU_SOURCE -DGNOMON_VERSION='"test"' -I"$source/src" -I"$generated" -I"$source/tests/cross"
       -I"$source/tests/unit" -fPIC -fno-omit-frame-pointer -fasynchronous-unwind-tables -Wall)
core=(agreement callpath classes collectives comms facts flavour interpreter lists modules paths python python_code real
      recorder requests sources traced tracer window_counts)

build() { # build NAME OPTION...: everything with these options
    local name=$1 objects=() file
    shift
    mkdir "$work/$name"
    compile() { # compile FILE OBJECT OPTION...
        $compiler "${flags[@]}" "${@:3}" -c "$1" -o "$work/$name/$2.o"
        objects+=("$work/$name/$2.o")
    }
    for file in "$source"/src/capture/*.c; do
        case $file in
        */channel.c | */envoy.c | */flavour_impl.c | */lifecycle.c | */old_glibc.c | */segment.c | */unwind_guard.c) ;; # for an agent and an MPI
        *) compile "$file" "$(basename "$file" .c)" "$@" ;;
        esac
    done
    compile "$source/src/clock/ticks.c" ticks "$@"
    compile "$source/src/event/activity.c" activity "$@"
    compile "$source/src/unwind/cfi.c" cfi "$@"
    compile "$source/src/unwind/python_code.c" python_code "$@"
    compile "$source/src/unwind/table.c" table "$@"
    compile "$source/tests/unit/capture.c" capture "$@"
    compile "$source/tests/unit/tree.c" tree_o2 "$@" -O2 -fomit-frame-pointer -DNAME=tree_o2 -DFIRST=0
    compile "$source/tests/unit/tree.c" tree_o2_fp "$@" -O2 -DNAME=tree_o2_fp -DFIRST=6
    compile "$source/tests/unit/tree.c" tree_o0 "$@" -O0 -DNAME=tree_o0 -DFIRST=12
    aarch64-linux-gnu-ar rc "$work/$name/all.a" "${objects[@]}" # of which each test takes what it needs
    for file in callpath recorder; do
        $compiler "${flags[@]}" "$@" -O1 -DCALLS="$calls" "$source/tests/unit/test_$file.c" "$work/$name/all.a" \
            -ldl -lpthread -o "$work/$name/test_$file"
        echo "== $name: $file"
        timeout 110 qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu "$work/$name/test_$file"
    done
}

build signed -O2 -mbranch-protection=standard
build plain -O1 -mbranch-protection=none
