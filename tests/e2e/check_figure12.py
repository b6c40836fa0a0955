"""check_figure12.py GNOMON RUN SOURCE TRUTH RANKS: what Li & Zhang (6.4.1) ask of the program of their figure 12, from the
whole of it down to one statement, as the program has measured it itself."""
import json
import pathlib
import subprocess
import sys

gnomon, run, source, truth_path, ranks = sys.argv[1:5] + [int(sys.argv[5])]
lines = pathlib.Path(source).read_text().splitlines()


def line(mark):
    return next(i for i, text in enumerate(lines, 1) if f"/* {mark} */" in text)


def tree(path=None):
    command = [gnomon, "report", "--by", "tree", "--top", "0", "--format", "json", run] + (["--path", path] if path else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def all_below(node):
    yield node
    for child in node["children"]:
        yield from all_below(child)


truth = {}
for rank in range(ranks):
    for text in pathlib.Path(f"{truth_path}.{rank}").read_text().splitlines():
        what, seconds, count = text.split()
        s, n = truth.get(what, (0, 0))
        truth[what] = (s + float(seconds), n + int(count))
behind = truth["behind"][0]


def is_as(got, true, less=0.0):
    """What follows the last call of a procedure is told of what calls it: the least that is right."""
    assert true - less - 0.02 * true - 0.01 <= got <= true + 0.02 * true + 0.01, (got, true, less)


def calls(node):
    assert node["calls"]["exact"], node["calls"]
    return node["calls"]["low"]


# the whole program, and the procedure calls in main by statement
whole = tree()
(main,) = [n for n in whole["tree"]["children"] if n["name"] == "main"]
assert main["total_s"] <= whole["tree"]["total_s"]
(loop,) = [n for n in main["children"] if n["kind"] == "loop" and n["line"] == line("main's loop")]
assert loop["iterations"]["exact"] or loop["doubt"]
assert loop["iterations"]["low"] == truth["P2"][1]
procedures = {n["line"]: n for n in loop["children"] if n["kind"] == "function"}
for what, mark, name in (("first_P1", "first P1", "P1"), ("P2", "the P2", "P2"), ("other_P1", "other P1", "P1")):
    node = procedures.pop(line(mark))
    assert node["name"] == name and node["file"].endswith("figure12.c")
    is_as(node["total_s"], truth[what][0], behind)
    assert calls(node) == truth[what][1], (calls(node), truth[what])
assert not procedures, procedures
called = sum(truth[what][0] for what in ("first_P1", "P2", "other_P1"))
is_as(loop["total_s"], called)

# procedure P3, by the statements that call it, and all together
found = tree("P3")["tree"]
assert [n["name"] for n in found["children"]] == ["P3"] * 3
by_line = {}
for n in found["children"]:
    s, count = by_line.get(n["line"], (0, 0))
    by_line[n["line"]] = (s + n["total_s"], count + calls(n))
is_as(by_line[line("from P1")][0], truth["first_P1"][0] + truth["other_P1"][0], behind)
is_as(by_line[line("from P2")][0], truth["P2"][0], behind)
assert by_line[line("from P2")][1] == truth["P2"][1]
assert sum(count for _, count in by_line.values()) == truth["first_P1"][1] + truth["other_P1"][1] + truth["P2"][1]
is_as(found["total_s"], called, behind)
(other,) = tree(f"P1@figure12.c:{line('other P1')}/P3")["tree"]["children"]
is_as(other["total_s"], truth["other_P1"][0], behind)
(other_way,) = tree(f"main/loop@figure12.c:{line('main' + chr(39) + 's loop')}/P2/P3")["tree"]["children"]
is_as(other_way["total_s"], truth["P2"][0], behind)

# loop1, and the communication in it
for what, path in (("E2_P1", "P1/P3"), ("E2_P2", "P2/P3")):
    loops = tree(f"{path}/loop@figure12.c:{line('loop1')}")["tree"]
    assert sum(n["iterations"]["low"] for n in loops["children"]) == truth[what][1]
    assert all(n["iterations"]["exact"] for n in loops["children"])
    sends = [n for n in all_below(loops) if n["name"].startswith("MPI_Sendrecv")]
    is_as(sum(n["total_s"] for n in sends), truth[what][0])

# of all communication what is transfer, and what is synchronisation
mpi_s = sum(n["total_s"] for n in all_below(whole["tree"]) if n["kind"] == "mpi")
sends_s = truth["E2_P1"][0] + truth["E2_P2"][0]
explained = json.loads(subprocess.run([gnomon, "explain", "--format", "json", run], check=True, capture_output=True,
                                      text=True).stdout)
waited = explained["seen"]["waited_s"]
assert 0 <= waited["low"] <= waited["estimate"] <= waited["high"] <= mpi_s, (waited, mpi_s)
assert waited["high"] >= 0.5 * sends_s, (waited, sends_s)
