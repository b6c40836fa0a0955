#!/bin/bash
# Known wrong formulas, put into a copy of src/clock one by one: the quick part of the soundness trials has to fail
# with each of them, and to pass without any. A mutation whose place is no longer found is a failure, too.
#
#     SOURCE=FOLDER [CC=cc] mutations.sh [NAME]
set -eu
: "${SOURCE:?}" "${CC:=cc}"
only=${1-}
quick="--conversions 1500000 --per-world 4096 --first --quiet"
sources="bounds clocks clocks_solve domain model pair"
work=$(mktemp -d "${TMPDIR:-/tmp}/gnomon-mutations.XXXXXX")
trap 'rm -rf "$work"' EXIT
flags="-std=gnu17 -D_GNU_SOURCE -O1 -w"
failed=0 tried=0

# What does not change is compiled once, and the trials again for headers that do.
mkdir "$work/once" "$work/trials" "$work/sources"
trials() { # trials FOLDER CLOCK
    for file in basics check soundness; do
        $CC $flags -I"$2" -I"$SOURCE/src" -I"$SOURCE/tests/soundness" -c "$SOURCE/tests/soundness/$file.c" \
            -o "$1/$file.o" || return 1
    done
}
trials "$work/trials" "$SOURCE/src"
for file in "$SOURCE"/src/base/{error,grow,map,printable}.c "$SOURCE"/tests/soundness/{line,world}.c; do
    $CC $flags -I"$SOURCE/src" -I"$SOURCE/tests/soundness" -c "$file" -o "$work/once/$(basename "$file" .c).o"
done
for name in $sources; do
    $CC $flags -I"$SOURCE/src" -c "$SOURCE/src/clock/$name.c" -o "$work/sources/$name.o"
done

fresh() {
    rm -rf "$work/tree"
    mkdir "$work/tree"
    cp -r "$SOURCE/src/clock" "$work/tree/clock"
}

# Ends with what the trials end with; 99 when it cannot be built.
try() {
    local objects="" name compiled="$work/trials" headers
    headers=$(for name in "$work"/tree/clock/*.h; do cmp "$name" "$SOURCE/src/clock/${name##*/}"; done)
    if ! cmp -s "$work/tree/clock/bounds.h" "$SOURCE/src/clock/bounds.h"; then
        compiled=$work/tree
        trials "$compiled" "$work/tree" || return 99
    fi
    for name in $sources; do
        if [ -z "$headers" ] && cmp -s "$work/tree/clock/$name.c" "$SOURCE/src/clock/$name.c"; then
            objects="$objects $work/sources/$name.o"
            continue
        fi
        $CC $flags -I"$work/tree" -I"$SOURCE/src" -c "$work/tree/clock/$name.c" -o "$work/tree/$name.o" || return 99
        objects="$objects $work/tree/$name.o"
    done
    $CC "$compiled"/{basics,check,soundness}.o $objects "$work"/once/*.o -lm -o "$work/tree/soundness" || return 99
    timeout 100 "$work/tree/soundness" $quick >"$work/tree/out" 2>&1
}

# mutation NAME FILE FROM TO: TO instead of FROM, which has to be there.
mutation() {
    local name=$1 file=$2 status=0
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    fresh
    tried=$((tried + 1))
    if ! python3 - "$work/tree/clock/$file" "$3" "$4" <<'END'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if old in text:
    open(path, "w").write(text.replace(old, new))
else:
    sys.exit(f"{path}: not found: {old}")
END
    then
        echo "FAILED: $name: its place is gone from $file: mend tests/soundness/mutations.sh"
        failed=1
        return 0
    fi
    try || status=$?
    if [ $status = 1 ] && grep -q '^WRONG' "$work/tree/out"; then
        echo "caught: $name: $(grep -m1 '^WRONG' "$work/tree/out" | cut -c1-120)"
    else
        echo "FAILED: $name is not caught (exit status $status)"
        tail -5 "$work/tree/out" 2>/dev/null
        failed=1
    fi
}

fresh
status=0
try || status=$?
[ $status = 0 ] || { echo "FAILED: without any mutation (exit status $status)"; tail "$work/tree/out"; exit 1; }

# The rate that holds behind a point taken for the one before it: FreeZer as published.
mutation sign-before-first bounds.c 'gn_product_ceil(distance, bounds->hi_rate, bounds->shift);
    gn_wide hi = (gn_wide)first->hi_ns - gn_product_floor(distance, bounds->lo_rate,' \
    'gn_product_ceil(distance, bounds->lo_rate, bounds->shift);
    gn_wide hi = (gn_wide)first->hi_ns - gn_product_floor(distance, bounds->hi_rate,'
mutation sign-after-last bounds.c 'b[i].hi_ns, bounds->lo_rate, bounds->hi_rate,' \
    'b[i].hi_ns, bounds->hi_rate, bounds->lo_rate,'
mutation sign-before-knot model.c '(up ? least_rise(rates, back) : greatest_rise(rates, back))' \
    '(up ? greatest_rise(rates, back) : least_rise(rates, back))'
mutation sign-corner model.c 'gn_wide left = least_rise(rates, at), right = rise - greatest_rise(rates, run - at);' \
    'gn_wide left = greatest_rise(rates, at), right = rise - least_rise(rates, run - at);'

# The zero's interval: on the wrong side, and on the wrong clock.
mutation zero-side-lower clocks_solve.c 'sent.lo_ns};' 'sent.hi_ns};'
mutation zero-side-upper clocks_solve.c 'received.hi_ns};' 'received.lo_ns};'
mutation zero-clock clocks_solve.c 'gn_bounds_convert(other->bounds, kept->received_ticks)' \
    'gn_bounds_convert(other->bounds, kept->received_ticks - 1000)'

# An average rate taken for the rate at every moment.
mutation average-rate domain.c '.lo = below(t, &t->slopes.least, 2 * wander)' '.lo = below(t, &t->slopes.least, 0)'
mutation average-rate-once domain.c '.hi = above(t, &t->slopes.most, 2 * wander)' \
    '.hi = above(t, &t->slopes.most, wander)'

# Rounding that is not outward.
mutation rounding-product-up fixed.h '+ (((gn_uwide)1 << shift) - 1)) >> shift' ') >> shift'
mutation rounding-product-down fixed.h '(((gn_uwide)difference * mantissa) >> shift)' \
    '((((gn_uwide)difference * mantissa) >> shift) + 1)'
mutation rounding-quotient-up fixed.h '<< shift) + denominator - 1) / denominator' '<< shift)) / denominator'
mutation rounding-quotient-down fixed.h '(uint64_t)(((gn_uwide)numerator << shift) / denominator)' \
    '((uint64_t)(((gn_uwide)numerator << shift) / denominator) + 1)'
mutation rounding-nearest-up bounds.c 'hi = gn_product_ceil(distance, piece->hi_rate, bounds->shift)' \
    'hi = gn_product_floor(distance, piece->hi_rate, bounds->shift)'
mutation rounding-nearest-down bounds.c 'lo = gn_product_floor(distance, piece->lo_rate, bounds->shift)' \
    'lo = gn_product_ceil(distance, piece->lo_rate, bounds->shift)'

mutation rounding-many-up bounds.c 'distance * hi_rate + 0.75' 'distance * hi_rate - 0.25'
mutation rounding-many-down bounds.c 'distance * lo_rate - 0.75' 'distance * lo_rate + 0.25'

# A reading taken for the moment, though it may be a granularity later.
mutation granularity-received clocks_solve.c 'kept->received_ticks + d->def.granularity_ticks, sent' \
    'kept->received_ticks, sent'
mutation granularity-reading model.c 'gn_wide hi = value_at(upper, &high_knot, ticks + granularity' \
    'gn_wide hi = value_at(upper, &high_knot, ticks'
mutation granularity-reference bounds.c 'gn_saturate(gn_product_ceil(granularity_ticks, rates.hi, rates.shift))' '0'

# A message that was thinned away lends its departure to the one that was kept.
mutation thinning pair.c 'p->kept[i] = p->kept[keep[i]];' \
    'p->kept[i] = (struct gn_pair_kept){p->kept[keep[i]].received_ticks, p->kept[keep[i] + (keep[i] + 1 < p->count)].sent_ticks};'
mutation thinning-early pair.c 'p->kept[i] = p->kept[keep[i]];' \
    'p->kept[i] = (struct gn_pair_kept){p->kept[i].received_ticks, p->kept[keep[i]].sent_ticks};'

# Before and after.
mutation verdict-ends bounds.h 'a.hi_ns < b.lo_ns ?' 'a.lo_ns < b.hi_ns ?'
mutation verdict-equal bounds.h 'a.hi_ns < b.lo_ns ?' 'a.hi_ns <= b.lo_ns ?'
mutation verdict-swapped bounds.h 'GN_BEFORE : b.hi_ns' 'GN_AFTER : b.hi_ns'

[ $tried -gt 0 ] || { echo "FAILED: no such mutation: $only"; exit 1; }
echo "$tried mutations"
exit $failed
