# A part of a run: what each rank did in it, as the program has written it down itself.
. "$(dirname "$0")/lib.sh"
compile logged fixtures/logged.c -g -O1

case $1 in
parts)
    run_gnomon all ./logged
    [ "$status" = 0 ] || fail "exit status $status: $(cat all.err)"
    wait_for_report all
    python3 "$here/check_between.py" "$gnomon" "$(folder_of all)" . || fail "a part is not what was done in it"
    run=$(folder_of all)
    "$gnomon" report --between 0.5,1.2 "$run" >part.txt || fail "no screen: $(cat part.txt)"
    grep -q 's, from [0-9.]* to [0-9.]* s of ' part.txt || fail "the screen does not say of what it is: $(cat part.txt)"
    "$gnomon" explain --between 0.5,1.2 "$run" >part.txt || fail "no explanation: $(cat part.txt)"
    grep -q '^of .* from .* to ' part.txt || fail "explain does not say of what it is: $(cat part.txt)"
    ;;
analyses) # of a trace, or of windows that are all of the run
    compile phases fixtures/phases.c -g -O1
    n=2
    run_gnomon traced --trace ./phases 120
    wait_for_report traced
    run=$(folder_of traced)
    python3 "$here/check_parts.py" "$gnomon" "$run" "$(line_of "$here/fixtures/phases.c" 'the second half')" ||
        fail "a part of the trace is not what was done in it"
    "$gnomon" stragglers --between 0.2,0.6 "$run" >part.txt || fail "no answer: $(cat part.txt)"
    grep -q '^a part of the run: .* from 0.2' part.txt || fail "it does not say of what it is: $(cat part.txt)"
    run_gnomon untraced ./phases 40
    wait_for_report untraced
    "$gnomon" stragglers --between 0.1,0.4 "$(folder_of untraced)" >part.txt || fail "no answer without a trace: $(cat part.txt)"
    for command in stragglers critical whatif frames paths; do
        "$gnomon" $command --between 1000, "$run" >out 2>err && fail "there is something where nothing is"
        grep -q 'nothing of it behind 1000' err || fail "$(cat err)"
        "$gnomon" $command --between 2,1 "$run" >out 2>err && fail "a part that ends before it begins"
        grep -q 'two times are expected' err || fail "$(cat err)"
    done
    "$gnomon" synth ring -o foreign >out 2>err || fail "$(cat err)"
    "$gnomon" stragglers --between 0.01, foreign >out 2>err && fail "a part of a trace that numbers nothing"
    grep -q 'does not number' err || fail "$(cat err)"
    ;;
counts) # of messages, requests, regions: parts add up to the whole, and have what was in them
    compile parted fixtures/parted.c -I"$SOURCE/include" -ldl -pthread
    n=2
    run_gnomon parted ./parted
    [ "$status" = 0 ] || fail "exit status $status: $(cat parted.err)"
    wait_for_report parted
    # where the first region is, and the second one, by the end: how long MPI_Init takes, nobody knows
    read -r first second <<<"$(python3 -c '
import sqlite3, sys
end = sqlite3.connect(sys.argv[1]).execute("SELECT max(elapsed_ns) * 1e-9 FROM process").fetchone()[0]
print(f"{end - 1.8},{end - 1.5} {end - 0.9},{end - 0.6}")' "$(folder_of parted)/profile.db")"
    for by in pair request region; do
        for part in 0, 0,1 1, "$first" "$second"; do
            report parted --by $by --between "$part" --format json >"$by$part.json" || fail "no $by of $part"
        done
        report parted --by $by --between 0.3,1.5 >text || fail "no screen by $by of a part"
    done
    python3 - "$first" "$second" <<'PY' || fail "parts are not what was done in them"
import json, sys
in_first, in_second = sys.argv[1:]
def rows(by, part):
    report = json.load(open(f"{by}{part}.json"))
    return next(value for value in report.values() if isinstance(value, list) and value and isinstance(value[0], dict)
                and {"pair": "messages", "request": "completed_by", "region": "mpi_s"}[by] in value[0])
def total(by, part, what):
    return sum(row[what] for row in rows(by, part))
def regions(part):
    return {row["name"]: row["total_s"] for row in rows("region", part) if not row["name"].startswith("helped")}
for by, what in ("pair", "messages"), ("pair", "bytes"), ("request", "count"):
    whole, one, other = (total(by, part, what) for part in ("0,", "0,1", "1,"))
    assert whole == one + other and one > 0 and other > 0, (by, what, whole, one, other)
for part, size in (in_first, 500), (in_second, 2000):
    assert total("pair", part, "bytes") == size * total("pair", part, "messages") > 0, (part, rows("pair", part))
    assert all(row["max_s"] is None for row in rows("request", part)), rows("request", part)
whole, one, other = (regions(part) for part in ("0,", "0,1", "1,"))
for name in "all", "first", "second", "beside":
    assert abs(whole[name] - one.get(name, 0) - other.get(name, 0)) < 0.01, (name, whole, one, other)
assert set(regions(in_first)) >= {"all", "first"} and "second" not in regions(in_first), regions(in_first)
assert set(regions(in_second)) >= {"all", "second"} and "first" not in regions(in_second), regions(in_second)
# of another thread of each rank, which was in it for a second, from its begin on
assert 1.9 < whole["beside"] < 4 and regions(in_first)["beside"] <= regions(in_first)["all"] + 0.001, regions(in_first)
all_of = next(row for row in rows("region", in_first) if row["name"] == "all")
assert all_of["mpi_s"] is not None and 0 < all_of["mpi_s"] < all_of["total_s"], all_of
PY
    python3 -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("ALTER TABLE peer DROP COLUMN series")
db.execute("ALTER TABLE completion DROP COLUMN series")
db.execute("PRAGMA user_version = 16")
db.commit()' "$(folder_of parted)/profile.db" || skip "this SQLite cannot drop columns"
    for by in pair request; do
        report parted --by $by --between 0,1 >out 2>err && fail "by $by, what an older profile does not have"
        grep -q "older gnomon" err || fail "$(cat err)"
    done
    report parted --between 0,1 >out || fail "a part of an older profile"
    ;;
errors)
    run_gnomon all ./logged
    wait_for_report all
    run=$(folder_of all)
    for asked in 1 2,1 x,2 1,1 -1,2 nan,1 1,2,3 '1 2'; do
        "$gnomon" report --between "$asked" "$run" >out 2>err && fail "--between $asked is taken"
        grep -q 'two times are expected' err || fail "--between $asked: $(cat err)"
    done
    "$gnomon" report --between 1000,2000 "$run" >out 2>err && fail "there is something where nothing is"
    grep -q 'nothing of it behind 1000' err || fail "$(cat err)"
    python3 -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for text in ("DROP TABLE moment", "PRAGMA user_version = 9"):
    db.execute(text)
db.commit()' "$run/profile.db"
    "$gnomon" report --between 1,2 "$run" >out 2>err && fail "a part of a run without a series"
    grep -q 'older gnomon' err || fail "$(cat err)"
    "$gnomon" report "$run" >out 2>err || fail "the run without a series: $(cat err)"
    ;;
damaged) # whatever a file says, it is read
    run_gnomon all ./logged
    wait_for_report all
    run=$(folder_of all)
    for number in 1 2 3 4 5 6 7 8; do
        cp "$run/profile.db" "damaged$number.db"
        python3 -c '
import random, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
random.seed(int(sys.argv[2]))
for table in ("node", "edge", "sample", "peer"):
    key = {"node": "location, activity", "edge": "location, from_activity, to_activity", "sample": "rowid",
           "peer": "location, activity, peer"}[table]
    names = key.split(", ")
    for row in db.execute(f"SELECT {key}, series FROM {table}").fetchall():
        if random.random() < 0.5:
            noise = bytes(random.randrange(256) for _ in range(random.randrange(60)))
            db.execute(f"UPDATE {table} SET series = ? WHERE " + " AND ".join(f"{n} = ?" for n in names), (noise, *row[:-1]))
odd = random.choice([0, -1, 2**63 - 1, -2**63])
if int(sys.argv[2]) == 8:
    db.execute("UPDATE process SET tick_ns = 1e308")
db.execute("UPDATE moment SET ticks = ? WHERE number = ?", (odd, random.randrange(5)))
db.execute("UPDATE process SET start_ticks = ? WHERE id = 1", (odd,))
db.commit()' "damaged$number.db" "$number"
        for by in pair request region; do
            "$gnomon" report --by $by --between 0.5,1 --format json "damaged$number.db" >out 2>err || [ $? = 2 ] || fail "by $by, damage $number: $(cat err)"
        done
        if "$gnomon" report --between 0.5,1 --format json "damaged$number.db" >out 2>err; then
            python3 -m json.tool out >/dev/null || fail "damage $number: no JSON"
        else
            [ $? = 2 ] && [ -s err ] || fail "damage $number: $(cat err)"
        fi
        "$gnomon" explain --between 0.5,1 "damaged$number.db" >out 2>err || [ $? = 2 ] || fail "damage $number: $(cat err)"
    done
    ;;
hosts) # two hosts, whose clocks are seconds apart, and of which one begins a second later
    [ "$FLAVOUR" = openmpi ] || skip "Open MPI only"
    right_env=GNOMON_TEST_CLOCK=offset=-5s,rate=20ppm,sine=1ppm/2s
    . "$(dirname "$0")/hosts.sh"
    on_left all "$launch --wdir $PWD sh -c '[ \$(hostname) = left ] || sleep 1; exec $gnomon run ./logged'"
    [ "$status" = 0 ] || fail "exit status $status: $(cat all.err)"
    wait_for_report all
    run=$(folder_of all)
    python3 "$here/check_between.py" "$gnomon" "$run" . || fail "a part is not what was done in it"
    compile phases fixtures/phases.c -g -O1
    on_left traced "$launch --wdir $PWD $gnomon run --trace ./phases 120"
    wait_for_report traced
    python3 "$here/check_parts.py" "$gnomon" "$(folder_of traced)" "$(line_of "$here/fixtures/phases.c" 'the second half')" ||
        fail "a part of the trace is not what was done in it"
    ;;
*) fail "no mode $1" ;;
esac
