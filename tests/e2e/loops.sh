# How often loops are gone round is known from the program's code and the calls that were recorded: exactly, or it is
# told that it is not. The program counts itself.
. "$(dirname "$0")/lib.sh"

# check COMPILER LEVEL LEAST [SOURCE [DEBUG]]
check() {
    local source=${4:-loops.c} program="${4:-loops.c}$1$2"
    command -v "$1" >/dev/null || return 0
    (export OMPI_CC="$1" MPICH_CC="$1" OMPI_CXX="$1" MPICH_CXX="$1" && compile "$program" "fixtures/$source" "$2" ${5:--g}) ||
        fail "$1 $2 does not compile $source"
    run_gnomon "run$program" "./$program" "truth$program"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report "run$program"
    "$gnomon" report --by tree --format json "$(folder_of "run$program")" >tree.json || fail "no tree of $program"
    python3 "$here/check_loops.py" tree.json "truth$program" "$n" "$3" || fail "$source, $1 $2"
}

# Without debug information a loop's count is a likely one: it is compared through the structure of the program
# as it was ahead of strip.
check_stripped() {
    local program="loops$1$2"
    command -v "$1" >/dev/null || return 0
    (export OMPI_CC="$1" MPICH_CC="$1" && compile "$program" fixtures/loops.c "$2" -g) || fail "$1 $2 does not compile"
    "$gnomon" structure "$program" --all --format json >"structure$program.json" || fail "no structure"
    strip "$program"
    run_gnomon "run$program" "./$program" "truth$program"
    wait_for_report "run$program"
    "$gnomon" report --by tree --format json "$(folder_of "run$program")" >tree.json || fail "no tree of $program"
    "$gnomon" report --by tree --top 0 "$(folder_of "run$program")" | grep -q "likely [0-9,]*+ iterations* a rank" ||
        fail "no likely count in the text"
    python3 "$here/check_loops.py" tree.json "truth$program" "$n" "$3" "structure$program.json" || fail "$1 $2, stripped"
}

case $1 in
levels)
    check gcc -O0 76
    check gcc -O1 76
    check gcc -O2 68
    check gcc -O3 68
    check clang -O0 76
    check clang -O1 72
    check clang -O2 64
    check clang -O3 60
    ;;
stripped)
    check_stripped gcc -O0 60
    check_stripped gcc -O2 60
    check_stripped clang -O1 60
    check_stripped clang -O3 50
    ;;
hard)
    for level in -O0 -O1 -O2 -O3; do
        check gcc "$level" 9 loops_hard.c
        check clang "$level" 9 loops_hard.c
        check gcc "$level" 0 loops_jump.c
        check gcc "$level" 0 loops_threaded.c
        check clang "$level" 60 loops_threaded.c
        check gcc "$level" 20 loops_unrolled.c
        check clang "$level" 9 loops_unrolled.c
    done
    # nothing tells of tests of which no instruction is left
    check gcc -O2 0 loops_threaded.c -g1
    check gcc -O3 0 loops_threaded.c "-g -gno-statement-frontiers"
    check gcc -O1 60 loops.c -gno-column-info
    check gcc -O2 20 loops.c -g1
    ;;
fortran)
    command -v "${MPICC/mpicc/mpif90}" >/dev/null || skip "no Fortran compiler"
    for level in "-O0 80" "-O1 70" "-O2 60" "-O3 60"; do
        name="fortran${level% *}"
        "${MPICC/mpicc/mpif90}" "${level% *}" -g -o "$name" "$here/fixtures/loops.F90" || fail "it does not compile"
        run_gnomon "$name" "./$name" "truth$name"
        [ "$status" = 0 ] || fail "exit status $status"
        wait_for_report "$name"
        report "$name" --by tree --format json >tree.json || fail "no tree"
        python3 "$here/check_loops.py" tree.json "truth$name" "$n" "${level#* }" || fail "$level"
    done
    ;;
random)
    for seed in 2 17 31; do
        python3 "$here/random_loops.py" make "$seed" "random$seed.c" "truth$seed" || fail "no program"
        for how in "gcc -O1" "gcc -O2" "gcc -O3" "clang -O2" "clang -O3"; do
            command -v "${how% *}" >/dev/null || continue
            name="random$seed${how/ /}"
            (export OMPI_CC="${how% *}" MPICH_CC="${how% *}" && "$MPICC" "${how#* }" -g -o "$name" "random$seed.c") ||
                fail "it does not compile: $how, seed $seed"
            run_gnomon "$name" "./$name"
            [ "$status" = 0 ] || fail "exit status $status"
            wait_for_report "$name"
            report "$name" --by tree --format json >tree.json || fail "no tree"
            python3 "$here/random_loops.py" check tree.json "truth$seed" "$n" || fail "$how, seed $seed"
        done
    done
    ;;
thrown)
    MPICC=${MPICC/mpicc/mpicxx}
    for level in -O0 -O2; do
        check g++ "$level" 0 loops_thrown.cc
        check clang++ "$level" 0 loops_thrown.cc
    done
    ;;
drift) # of the time loop
    compile drift fixtures/drift.c -O1 -g
    for how in "200 0.005 0.02" "1000 0.0045 0.0015"; do
        run_gnomon "${how%% *}" ./drift $how
        wait_for_report "${how%% *}"
        "$gnomon" report --by tree --format json "$(folder_of "${how%% *}")" >tree.json || fail "no tree"
        "$gnomon" report --by tree "$(folder_of "${how%% *}")" >tree.txt || fail "no tree"
        grep -q "tenth [1-9][.0-9]* times the \(first\|middle\|last\)" tree.txt || fail "no drift in the text: $(cat tree.txt)"
        python3 - "$work/${how%% *}.out" <<'EOF' || fail "another drift than the program's own: $how"
import json, sys
truth = [float(x) for x in open(sys.argv[1]).read().split()]
def loops(node):
    return [node] * (node["kind"] == "loop") + [l for child in node["children"] for l in loops(child)]
(drift,) = [l["drift"] for l in loops(json.load(open("tree.json"))["tree"])]
print(drift, truth)
for name, seen in zip(("first_s", "middle_s", "last_s"), truth):
    assert abs(drift[name] / seen - 1) <= drift["off"] + 0.05, (name, drift, truth)
EOF
    done
    ;;
figure12)
    # what Li & Zhang ask of their example, of a run that has ended and of one that goes on; ten times as long a run has
    # no more to keep
    compile figure12 fixtures/figure12.c -g
    truth=$work/truth
    run_gnomon short ./figure12 5 "$truth"
    [ "$status" = 0 ] || fail "exit status $status"
    run_gnomon ended ./figure12 50 "$truth"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report short
    wait_for_report ended
    python3 "$here/check_figure12.py" "$gnomon" "$(folder_of ended)" "$here/fixtures/figure12.c" "$truth" "$n" ||
        fail "not as the program has measured it"
    for name in short ended; do
        sqlite3 "$(folder_of $name)/profile.db" "SELECT (SELECT count(*) FROM node), (SELECT count(*) FROM edge)" >"$name.rows"
    done
    cmp short.rows ended.rows || fail "a longer run has more to keep"
    mkdir runs
    "$MPIRUN" -n "$n" "$gnomon" run -d runs ./figure12 150 >out 2>err &
    job=$!
    told=0
    for _ in $(seq 200); do
        "$gnomon" report --live -d runs --path P3 --format json >live.json 2>live.err && python3 - <<'EOF' && told=$((told + 1))
import json
r = json.load(open("live.json"))
nodes = r["tree"]["children"]
assert r["run"]["live"] and len(nodes) == 3
assert all(n["name"] == "P3" and n["calls"]["low"] > 0 for n in nodes)
EOF
        [ "$told" -ge 2 ] && break
        sleep 0.2
    done
    wait "$job" || fail "the run has ended badly: $(cat err)"
    [ "$told" -ge 2 ] || fail "not told while it goes on: $(cat live.err)"
    ;;
left)
    # a function has none of the time in which it had surely been left, and what samples find in its own code
    compile left fixtures/left.c -O1 -g
    run_gnomon left ./left "$work/truth"
    [ "$status" = 0 ] || fail "exit status $status"
    wait_for_report left
    report left --by tree --top 0 --format json >tree.json || fail "no tree"
    python3 - tree.json "$work/truth" "$n" <<'EOF' || fail "another time than the program has measured"
import json, sys
tree, path, ranks = json.load(open(sys.argv[1]))["tree"], sys.argv[2], int(sys.argv[3])
red_s, head_s = (sum(values) for values in zip(*(map(float, open(f"{path}.{r}").read().split()) for r in range(ranks))))

def all_below(node):
    yield node
    for child in node["children"]:
        yield from all_below(child)

def named(name):
    return [node for node in all_below(tree) if node["name"] == name and node["kind"] == "function"]

red, head = sum(node["total_s"] for node in named("red")), sum(node["total_s"] for node in named("head"))
assert abs(red - red_s) <= 0.05 * red_s + 0.02, (red, red_s)
# where samples are few, some of it is told of the range between the calls
assert 0.8 * head_s - 0.05 <= head <= 1.02 * head_s + 0.02, (head, head_s)
assert not any(below["name"].startswith("assemble") for node in named("red") for below in all_below(node))
EOF
    ;;
asked)
    compile loops fixtures/loops.c -O1 -g
    run_gnomon one ./loops truth
    wait_for_report one
    line=$(line_of "$here/fixtures/loops.c" 'i < n3')
    folder=$(folder_of one)
    "$gnomon" report --path "main/loop@loops.c:$line/nested" --format json "$folder" >asked.json || fail "the tree is not asked"
    python3 - <<'EOF' || fail "another part of the tree"
import json
tree = json.load(open("asked.json"))["tree"]
nodes = tree["children"] # called from two statements
assert len({node["line"] for node in nodes}) == len(nodes) == 2, nodes
assert sum(node["total_s"] for node in nodes) <= tree["total_s"] * 1.0001
for node in nodes:
    assert node["name"] == "nested" and node["kind"] == "function", node["name"]
    assert "loop" in [child["kind"] for child in node["children"]]
    assert not node["calls"]["exact"] or node["calls"]["low"] % 2 == 0
EOF
    status=0
    "$gnomon" report --path main/nowhere "$folder" >/dev/null 2>err || status=$?
    [ "$status" = 2 ] || fail "a path that leads nowhere is no error"
    grep -q "main/nowhere" err || fail "the error does not say which path: $(cat err)"
    ;;
structure)
    compile loops fixtures/loops.c -O0 -g
    "$gnomon" structure loops --format json >structure.json || fail "no structure"
    python3 - "$here/fixtures/loops.c" <<'EOF' || fail "not the structure of the source"
import json
import sys
source = [line.strip() for line in open(sys.argv[1])]
module = json.load(open("structure.json"))["modules"][0]
procedures = {p["name"]: p for p in module["procedures"]}
def loops(node):
    own = [child for child in node.get("children", []) if child["kind"] == "loop"]
    return own, [loops(child) for child in own]
outer, inner = loops(procedures["nested"])
assert len(outer) == 1 and len(inner[0][0]) == 1, outer
for loop in outer + inner[0][0]:
    assert source[loop["line"] - 1].startswith("for ("), loop
    assert loop["communicates"] and not loop["doubt"]
calls = [child["name"] for child in outer[0]["children"] if child["kind"] == "call"]
assert calls == ["MPI_Allreduce"], calls
assert procedures["calls_step"]["communicates"] and "step" in procedures
assert module["communicating_count"] < module["procedure_count"]
EOF
    for width in 72 100 140; do
        COLUMNS=$width "$gnomon" structure loops >"text$width" || fail "no text"
        [ "$(awk '{ if (length > most) most = length } END { print most }' "text$width")" -le "$width" ] || fail "wider than $width"
    done
    grep -q "loop .*loops.c" text100 || fail "no loop in the text"
    for bad in /etc/passwd /nowhere .; do
        status=0
        "$gnomon" structure "$bad" >/dev/null 2>err || status=$?
        [ "$status" = 2 ] || fail "$bad is taken for a program"
        [ -s err ] || fail "nothing is said of $bad"
    done
    head -c 9000 loops >cut
    status=0
    "$gnomon" structure cut >/dev/null 2>err || status=$?
    [ "$status" -le 2 ] || fail "a program that was cut ends gnomon"
    ;;
esac
