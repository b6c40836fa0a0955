"""check_common.py GNOMON RUN: of a run on two hosts without a trace, what both kept is most of what each kept in its windows but
the first and the last, and it is looked at."""
import json
import os
import sqlite3
import subprocess
import sys

gnomon, run = sys.argv[1:]
with sqlite3.connect(os.path.join(run, "profile.db")) as db:
    spans = dict(db.execute("SELECT key, value FROM run WHERE key GLOB 'windows/*/spans'"))
db.close()


def windows(host):
    ticks = [int(word) for word in spans[f"windows/{host}/spans"].split()]
    return list(zip(ticks[::2], ticks[1::2]))


common, left, right = windows("all"), windows("left"), windows("right")
print(f"{len(left)} windows on the left, {len(right)} on the right, {len(common)} that both have")
assert len(common) > 1 and len(common) >= 0.6 * min(len(left), len(right))
# the left host's counter is the reference's: each common window lies in one of its own, up to the width of its clock
close = 100000
for begin, end in common:
    assert any(b - close <= begin and end <= e + close for b, e in left), (begin, end)
seen = json.loads(subprocess.run([gnomon, "explain", "--format", "json", run], capture_output=True, text=True, check=True).stdout)["seen"]
print(seen)
assert seen["parts"] >= len(common) and not seen["whole"] and 0 < seen["share"] < 1
