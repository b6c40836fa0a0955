# gnomon sync on a ring of four ranks whose clocks are up to 20 us wrong, a million events: what is put forward does not
# pile up from message to message around the ring, whatever the clocks are.
. "$(dirname "$0")/lib.sh"

# skew FOLDER: the largest error of a clock at its location's first event, in ns; each location has a clock of its own.
skew() {
    for location in 0 1 2 3; do
        otf2-print -L $location "$1/traces.otf2" 2>/dev/null | sed -n "s/^PROGRAM_BEGIN *$location *\([0-9]*\) .*/\1/p;/^ENTER/q"
    done >shown.txt
    python3 - "$1/true-times" shown.txt <<'END'
import struct, sys
data, shown = open(sys.argv[1], "rb").read(), [int(line) for line in open(sys.argv[2])]
first, at = {}, 8
while at < len(data):
    location, count = struct.unpack_from("<QQ", data, at)
    first.setdefault(location, struct.unpack_from("<d", data, at + 16)[0])
    at += 16 + 8 * count
assert len(shown) == len(first) == 4
print(max(abs(shown[i] - 10**15 - first[i]) for i in first))
END
}

for seed in 1 2 3; do
    "$gnomon" synth ring -n 4 -e 1e6 --domains 4 --offset 20us --seed $seed -o skewed >/dev/null || fail "synth"
    run seed$seed "$gnomon" sync skewed -o repaired --presync none --verify --format json
    [ "$status" = 0 ] || fail "seed $seed: exit status $status"
    python3 - "$work/seed$seed.out" "$(skew skewed)" $seed <<'END' || fail "seed $seed: see above"
import json, sys
r, skew_ns, seed = json.load(open(sys.argv[1])), float(sys.argv[2]), sys.argv[3]
shift_ns = r["amortization"]["largest_shift_ns"]
print(f"seed {seed}: clocks wrong by {skew_ns:.0f} ns, shifted by {shift_ns:.0f} ns, {len(r['passes'])} passes, "
      f"{r['messages']['point_to_point']['reversed']} messages reversed")
assert 1000 < skew_ns <= 20001, skew_ns
assert r["messages"]["point_to_point"]["reversed"] > 1000, "nothing to repair"
assert r["converged"] and r["verified"]["holds"]
assert 0 < shift_ns <= 3 * skew_ns, "it piles up"
END
    rm -rf skewed repaired
done
cat "$work"/seed*.err
