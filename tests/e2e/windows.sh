# Windows of events: an ordinary run has them, and says so; asked for none it has none; they stay small; and what they say
# of the whole is what a trace says.
. "$(dirname "$0")/lib.sh"
compile exchange fixtures/exchange.c -g

case $1 in
kept)
    run_gnomon some ./exchange 40000 5
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report some
    run=$(folder_of some)
    [ -f "$run/windows/traces.otf2" ] && [ ! -e "$run/trace" ] || fail "not where they belong"
    [ "$(sql some "SELECT value > 1000 FROM run WHERE key GLOB 'windows/*/events'")" = 1 ] || fail "no events"
    python3 - "$("$gnomon" explain --format json "$run")" <<'EOP' || fail "explain has not seen them"
import json, sys
seen = json.loads(sys.argv[1])["seen"]
assert seen["parts"] > 1 and not seen["whole"] and 0 < seen["share"] < 1, seen
causes = json.loads(sys.argv[1])["causes"]
assert all((c["certainty"] == "certain") == (c["doubt"] is None) for c in causes), causes
assert any(c["doubt"] and c["doubt"].endswith("of the run was seen") for c in causes), causes
EOP
    grep -q ' waiting' "$work/some.err" && ! grep -q 'waiting or transfer' "$work/some.err" || fail "the screen does not say what is waiting"
    # named by itself, with what is between windows it is no program's time
    "$gnomon" stragglers --format json "$run" | grep -v '"trace"' >of_run.json || fail "no answer of the run"
    "$gnomon" stragglers --format json "$run/windows/traces.otf2" | grep -v '"trace"' >of_archive.json || fail "no answer of the archive"
    (cd "$run/windows" && "$gnomon" stragglers --format json traces.otf2) | grep -v '"trace"' | diff of_archive.json - >diff.out || fail "by another name another answer: $(cat diff.out)"
    grep -q '"seen"' of_run.json && diff of_run.json of_archive.json >diff.out || fail "the archive by itself is another run: $(cat diff.out)"
    "$gnomon" check "$run/windows" >check.out 2>&1 || fail "the archive is not one: $(cat check.out)"
    run_gnomon none --windows off ./exchange 200 10
    wait_for_report none
    [ ! -e "$(folder_of none)/windows" ] || fail "there are windows, and none were asked for"
    [ "$("$gnomon" explain --format json "$(folder_of none)" | python3 -c 'import json, sys; print(json.load(sys.stdin)["seen"])')" = None ] ||
        fail "something was seen where nothing was kept"
    run_gnomon traced --trace ./exchange 200 10
    wait_for_report traced
    [ ! -e "$(folder_of traced)/windows" ] && [ -e "$(folder_of traced)/trace" ] || fail "a trace and windows"
    ;;
bounded) # ten times the calls, and hardly more kept: the rate's logarithm (docs/windows.md), and what a moment had
    for steps in 60000 600000; do
        began=$(date +%s%N)
        run_gnomon "of_$steps" ./exchange "$steps" 3
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report "of_$steps"
        echo $((($(date +%s%N) - began) / 1000000)) >>events
        sql "of_$steps" "SELECT value FROM run WHERE key GLOB 'windows/*/events'" >>events
        sql "of_$steps" "SELECT 100 * value FROM run WHERE key GLOB 'windows/*/garbled'" >>events
    done
    python3 - $(cat events) <<'EOP' || fail "not bounded: $(cat events)"
import math
import sys
few_ms, few, garbled, many_ms, many, garbled_too = (int(x) for x in sys.argv[1:])
assert garbled == garbled_too == 0
rate, doubles = 100000, 120000 + 2 * 200
for ms, events in ((few_ms, few), (many_ms, many)):
    law = doubles / math.log(2) * math.log(1 + 1.5 * rate * (1 + ms / 1000) * math.log(2) / doubles)
    assert 0 < events < law + 60000, (ms, events, law)
EOP
    ;;
estimate)
    for run in a b c; do
        run_gnomon "$run" --trace ./exchange 8000 60
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report "$run"
    done
    python3 "$here/check_windows.py" "$gnomon" 20 "$(folder_of a)" "$(folder_of b)" "$(folder_of c)" ||
        fail "windows of a trace do not say what it says"
    python3 "$here/check_joined.py" "$gnomon" "$(folder_of a)" || fail "windows one after the other are not what each is by itself"
    ;;
epochs) # of one-sided windows: post and start, complete and wait belong together, wherever a window begins; fences, too
    compile epochs fixtures/epochs.c -g
    for how in "whole --trace" "parts --windows=20000"; do
        run_gnomon "${how% *}" "${how#* }" ./epochs 3000
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report "${how% *}"
        run=$(folder_of "${how% *}")
        "$gnomon" explain --waits --top 0 --format json "$run" >waits.json || fail "no waits"
        python3 - "$(tail -n 1 "$work/${how% *}.out")" "${how% *}" <<'EOP' || fail "not as the program has measured it: $how"
import json, sys
truth, how = float(sys.argv[1]), sys.argv[2]
told = json.load(open("waits.json"))
edges = [w for w in told["waits"] if w["kind"] == "wait at window"]
waits = [w for w in edges if w["call"] == "MPI_Win_wait"]
low, high = (sum(w["waited_s"][end] for w in waits) for end in ("lo", "hi"))
print(how, told["seen"], low, truth, high)
assert all(w["for_call"] == "MPI_Win_complete" and w["rank"] == 0 for w in waits)
assert all(w["for_call"] == "MPI_Win_post" and w["waits_for"] == 0
           for w in edges if w["call"] in ("MPI_Win_start", "MPI_Win_complete"))
assert any(w["call"] == "MPI_Win_fence" for w in edges)
# of a program that a busy machine makes slow more is seen, by fewer windows, or all
assert told["seen"]["whole"] if how == "whole" else told["seen"]["parts"] > 1 or told["seen"]["whole"], told["seen"]
assert 0.9 * low <= truth <= 1.1 * high, (low, truth, high)
assert how == "parts" or high - low < 0.05 * high
EOP
        "$gnomon" stragglers "$run" >text || fail "no stragglers of $how"
    done
    n=4
    run_gnomon turns --trace ./epochs 200 turns
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report turns
    "$gnomon" explain --waits --top 0 --format json "$(folder_of turns)" >waits.json || fail "no waits by turns"
    python3 - "$(tail -n 1 "$work/turns.out")" <<'EOP' || fail "not as the program has measured it, by turns"
import json, sys
truth = float(sys.argv[1])
waits = [w for w in json.load(open("waits.json"))["waits"] if w["call"] == "MPI_Win_wait"]
low, high = (sum(w["waited_s"][end] for w in waits) for end in ("lo", "hi"))
print(low, truth, high)
assert all(w["for_call"] == "MPI_Win_complete" for w in waits) and {w["rank"] for w in waits} == set(range(4))
assert 0.9 * low <= truth <= 1.1 * high, (low, truth, high)
EOP
    # of what ranks wait for a lock nothing tells: nobody certainly holds them up, and what is possible has it
    run_gnomon locks --trace ./epochs 100 locks
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report locks
    run=$(folder_of locks)
    "$gnomon" stragglers --format json "$run" >locks.json && "$gnomon" critical --format json "$run" >path.json ||
        fail "no answers of locks"
    python3 - "$(tail -n 1 "$work/locks.out")" "$work/locks.err" <<'EOP' || fail "certain of locks"
import json, re, sys
truth, screen = float(sys.argv[1]), open(sys.argv[2]).read()
held, path = json.load(open("locks.json")), json.load(open("path.json"))
assert held["verdict"] != "certain", held["verdict"]
assert path["untold"] > 0, path
most = float(re.search(r"([\d.]+) % waiting", screen).group(1)) / 100 * path["length_s"]["hi"] * 4
print(truth, most)
assert truth <= 1.1 * most, (truth, most)
EOP
    ;;
partial) # a run that ended before its time is one in what its windows say, too
    compile late fixtures/late.c -g
    run killed bash -c '"$@" & sleep 3; pkill -KILL -f "^[.]/late 1 5 1000"; wait' - \
        "$MPIRUN" -n 2 "$gnomon" run ./late 1 5 1000
    wait_for_report killed
    "$gnomon" stragglers --format json "$(folder_of killed)" >json || fail "no answer"
    grep -q '"partial": true' json || fail "it is not said: $(cat json)"
    "$gnomon" stragglers "$(folder_of killed)" >text || fail "no answer"
    grep -q PARTIAL text || fail "it is not said: $(cat text)"
    ;;
hosts) # two of them, whose clocks are seconds apart: windows of the same moments, which say what a trace says
    [ "$FLAVOUR" = openmpi ] || skip "Open MPI only"
    compile late fixtures/late.c -g
    right_env=GNOMON_TEST_CLOCK=offset=-5s,rate=20ppm,sine=1ppm/2s
    . "$(dirname "$0")/hosts.sh"
    on_left many "$launch --wdir $PWD $gnomon run ./exchange 20000 20"
    [ "$status" = 0 ] || fail "exit status $status: $(cat many.err)"
    wait_for_report many
    run=$(folder_of many)
    [ -f "$run/windows/traces.otf2" ] && [ ! -e "$run"/windows-left ] && [ ! -e "$run"/windows-right ] || fail "the hosts' archives are not one"
    "$gnomon" check "$run/windows" >check.out 2>&1 || fail "the archive is none: $(cat check.out)"
    python3 "$here/check_common.py" "$gnomon" "$run" || fail "the windows of the hosts are not of the same moments"
    # few calls: the whole run, and who is late on the other host
    on_left few "$launch --wdir $PWD $gnomon run ./late 3 20 60"
    [ "$status" = 0 ] || fail "exit status $status: $(cat few.err)"
    wait_for_report few
    run=$(folder_of few)
    "$gnomon" explain --format json "$run" >few.json || fail "no answer"
    python3 - <<'EOP' || fail "$(cat few.json)"
import json
report = json.load(open("few.json"))
seen, cause = report["seen"], report["causes"][0]
assert seen["whole"] and seen["share"] > 0.9, seen
assert cause["ranks"] == [3] and cause["lost_s"]["low"] > 0.5, cause
EOP
    "$gnomon" stragglers "$run" >stragglers.out 2>&1 && grep -q 'rank 3' stragglers.out || fail "$(cat stragglers.out)"
    on_left traced "$launch --wdir $PWD $gnomon run --trace ./exchange 8000 60"
    [ "$status" = 0 ] || fail "exit status $status: $(cat traced.err)"
    wait_for_report traced
    python3 "$here/check_windows.py" "$gnomon" 20 "$(folder_of traced)" || fail "windows of a trace do not say what it says"
    ;;
esac
