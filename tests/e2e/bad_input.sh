# Wrong usage and wrong files: exit status 2 and a message that names them; never a crash.
. "$(dirname "$0")/lib.sh"

refused() { # WORD-IN-THE-MESSAGE ARGUMENT...
    local word=$1
    shift
    run bad "$gnomon" "$@"
    [ "$status" = 2 ] || fail "gnomon $*: exit status $status"
    grep -q -e "$word" "$work/bad.err" || fail "gnomon $*: the message does not say $word"
}

refused Usage
refused frobnicate frobnicate
refused program run
refused nonsense run --nonsense ./a
refused pcontrol run --pcontrol=other ./a
refused threads run --threads=0 ./a
refused threads run --threads=1000000 ./a
refused 'size from 64K' run --trace=1K ./a
refused 'size from 64K' run --trace=16 ./a
refused 'size from 64K' run --trace=999999999999999999999G ./a
refused 'size from 64K' run --trace=-1M ./a
refused drop run --trace --trace-full=perhaps ./a
refused 'trace is missing' run --trace-full=block ./a
refused 'no run folder' report
refused missing-run report missing-run
refused nonsense report --nonsense
refused frob report --by frob
refused yaml report --format yaml
refused -1 report --top=-1
refused output merge
refused missing-run merge missing-run
refused nonsense clock --nonsense
refused '0.1 to 86400' clock --seconds 0
refused '0.1 to 86400' clock --seconds nan
refused xml clock --format xml
refused sometimes clock --assume sometimes
refused 'rate of at most' clock --wander -1
refused 'rate of at most' clock --nominal 1e9
refused 'belongs to' clock --assume constant --wander 5
refused 'is too much' clock one another
refused 'for measuring' clock run --seconds 3
refused 'no run folder' clock --last
refused 'launcher' clock --keep
refused 'unrecognized' clock --compare
refused missing-run clock missing-run
refused 'part of' clock-wait

: >empty.db
refused empty.db report empty.db
echo "this is no database at all, but it is long enough to have been one" >text.db
refused text.db report text.db
head -c 20000 /dev/urandom >random.db
refused random.db report random.db
refused random.db clock random.db
refused empty.db clock empty.db
python3 -c '
import sqlite3
db = sqlite3.connect("foreign.db"); db.execute("CREATE TABLE a(b)"); db.commit()'
refused foreign.db report foreign.db
mkdir nothing-in-it
refused nothing-in-it report nothing-in-it
refused foreign.db clock foreign.db
refused nothing-in-it clock nothing-in-it

run_gnomon good "$examples/crash.$FLAVOUR" ok
good=$(folder_of good)/profile.db
cp "$good" newer.db
python3 -c '
import sqlite3
db = sqlite3.connect("newer.db"); db.execute("PRAGMA user_version = 99"); db.commit()'
refused 'newer.db was written by a newer gnomon' report newer.db
refused 'newer.db was written by a newer gnomon' clock newer.db
cp "$good" clockless.db
python3 -c '
import sqlite3
db = sqlite3.connect("clockless.db"); db.execute("DELETE FROM clock_domain"); db.commit()'
refused 'clockless.db says nothing of clocks' clock clockless.db
python3 -c '
import sqlite3
db = sqlite3.connect("clockless.db")
for table in db.execute("SELECT name FROM sqlite_master WHERE name GLOB \"clock_*\" AND type = \"table\"").fetchall():
    db.execute("DROP TABLE " + table[0])
db.execute("PRAGMA user_version = 1"); db.commit()'
refused 'clockless.db says nothing of clocks' clock clockless.db
refused 'newer.db' merge -o out.db newer.db
refused 'newer.db is not the folder of a run' merge newer.db
cp "$good" older.db
python3 -c '
import sqlite3
db = sqlite3.connect("older.db")
db.executescript("DROP TABLE ending; DROP TABLE last_call; UPDATE process SET complete = 0; PRAGMA user_version = 3")'
"$gnomon" report older.db 2>&1 | grep -q '^PARTIAL' || fail "a profile without last calls cannot be read"
"$gnomon" merge -o merged.db older.db 2>&1 || fail "a profile without last calls cannot be merged"
[ ! -e out.db ] || fail "merge left a file"

# Cut and scribbled-over profiles: some message or some report, no crash.
python3 - "$good" <<'EOF'
import random, sys
data = open(sys.argv[1], "rb").read()
random.seed(1)
for i in range(12):
    bad = bytearray(data[: random.randrange(100, len(data))] if i % 2 else data)
    for _ in range(0 if i % 2 else 200):
        bad[random.randrange(100, len(bad))] = random.randrange(256)
    open("damaged%d.db" % i, "wb").write(bad)
EOF
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
    for by in activity callpath pair; do
        run bad "$gnomon" report damaged$i.db --by $by
        [ "$status" -le 2 ] || fail "damaged$i.db by $by: exit status $status"
    done
    run bad "$gnomon" clock damaged$i.db --format json
    [ "$status" -le 2 ] || fail "clocks of damaged$i.db: exit status $status"
done
