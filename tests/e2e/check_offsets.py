#!/usr/bin/python3
"""Whether the example in a document reads the same bounds from an archive as gnomon does.

    check_offsets.py docs/trace-format.md traces.otf2 events.csv

events.csv: `gnomon export --to csv --bounds` of the archive.
"""
import csv
import re
import sys

document, anchor, events = sys.argv[1:]
with open(document) as file:
    example = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
names = {}
exec(example, names)

theirs = {}
for location, ticks, lo, hi in names["bounds"](anchor):
    theirs.setdefault(location, []).append((ticks, lo, hi))
seen, differ, checked = {}, 0, 0
with open(events, newline="") as file:
    for row in csv.DictReader(file):
        location = int(row["rank"]) | int(row["thread"]) << 32  # as gnomon's archives call it
        number = seen[location] = seen.get(location, -1) + 1
        _, lo, hi = theirs[location][number]
        checked += 1
        differ += abs(lo - int(row["lo_ns"])) > 5 or abs(hi - int(row["hi_ns"])) > 5
print(f"{checked} events, {differ} with other bounds")
sys.exit(differ > 0 or not checked)
