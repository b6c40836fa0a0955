"""check_loops.py REPORT TRUTH RANKS LEAST [STRUCTURE]: loops of `report --by tree --format json` against what the program
has counted itself, as "line iterations" of one rank. None may be wrong unless it says that it is doubtful; at least
LEAST of 100 have to be exact. With STRUCTURE (of the program with its debug information), the run was of the program
without: then so many have to be as is likely."""
import json
import sys

report, truth, ranks, least = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
stripped = len(sys.argv) > 5
found, line_of = {}, {}


def look(node):
    if node["kind"] == "loop" and node["iterations"]:
        line = line_of.get(int(node["place"], 16)) if stripped else node["line"]
        found.setdefault(line, []).append(node)
    for child in node["children"]:
        look(child)


def place(node):
    if node["kind"] == "loop":
        line_of[node["offset"]] = node["line"]
    for child in node.get("children", []):
        place(child)


if stripped:
    for procedure in json.load(open(sys.argv[5]))["modules"][0]["procedures"]:
        place(procedure)
look(json.load(open(report))["tree"])
lines = [[int(field) for field in line.split()] for line in open(truth)]
exact, likely, wrong = 0, 0, []
for line, count in lines:
    # a loop without a test at its top has no code in its line
    nodes = found.pop(line, None) or found.pop(line + 1, None) or found.pop(line + 2, None)
    if not nodes:
        continue
    likely += sum(node["iterations"]["likely"] for node in nodes) == count * ranks
    if any(node["doubt"] for node in nodes):
        continue
    low = sum(node["iterations"]["low"] for node in nodes)
    highs = [node["iterations"]["high"] for node in nodes]
    high = None if None in highs else sum(highs)
    exact += all(node["iterations"]["exact"] for node in nodes)
    if not (low <= count * ranks and (high is None or count * ranks <= high)):
        wrong.append(f"line {line}: {low} to {high}, in truth {count * ranks}")
print(f"{exact} of {len(lines)} loops exact, {likely} as is likely, {len(wrong)} wrong")
assert not wrong, wrong
assert 100 * (likely if stripped else exact) >= least * len(lines), "too few are known"
