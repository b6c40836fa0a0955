"""check_ends.py HOW REPORT.json EVENTS LOG RANKS MORE: what report and trace hold is what the program has counted itself, or
what they say is missing.

equal: all of it. killed: all up to the kill, one call more or less of each rank. saved: not more than that, and the
report says up to when. full: all in the report; of the trace what found room, and the rest is counted.
"""
import json
import re
import struct
import sys

how, report, events, log, ranks, more = sys.argv[1:]
report = json.load(open(report))
begun = done = 0
for rank in range(int(ranks)):
    steps = struct.unpack("QQ", open(f"{log}.{rank}", "rb").read())
    begun += steps[0]
    done += steps[1]
assert done > 0, "the program has done nothing"

run = report["run"]
calls = {a["name"]: 0 for a in report["activities"]}
for activity in report["activities"]:
    calls[activity["name"]] += activity["count"]
counted = [calls.get("MPI_Sendrecv", 0), calls.get("MPI_Allreduce", 0)]
if how == "killed_or_saved":
    how = "killed" if run["saved_s"] is None else "saved"
print(f"{how}: {begun} steps begun, {done} done; the report has {counted}, saved {run['saved_s']}")
if how in ("equal", "full"):
    assert run["complete"] and run["saved_s"] is None
    assert begun == done and counted == [done, done] and calls.get("MPI_Bcast", 0) == int(more) * done
elif how == "killed":
    assert not run["complete"] and run["saved_s"] is None
    assert all(done <= count <= begun for count in counted)
else:
    assert not run["complete"] and run["saved_s"] > 0
    assert all(0 < count <= begun for count in counted)

enters = {}
lost = 0
for line in open(events):
    if line.startswith("ENTER "):
        name = re.search(r'Region: "(\w+)"', line).group(1)
        enters[name] = enters.get(name, 0) + 1
    elif line.startswith("PARAMETER_UINT64") and "gnomon.lost" in line:
        lost += int(re.search(r"Value: (\d+)", line).group(1))
if enters:
    trace = report["trace"]
    entered = [enters.get("MPI_Sendrecv", 0), enters.get("MPI_Allreduce", 0)]
    print(f"the trace has {entered}, {lost} events lost: {trace['error']}")
    # where there was no room, the mark of what was lost may not have been written either
    assert trace["dropped"] == lost or (how == "full" and trace["dropped"] > lost and trace["error"])
    if how == "saved":
        assert trace["error"] and all(0 < count <= begun for count in entered)
        assert trace["events"] >= sum(entered)
    elif how == "full":
        written = sum(1 for line in open(events) if re.match(r"[A-Z_]+ +\d+ +\d+ ", line))
        assert trace["events"] == written and all(count <= done for count in entered)
        # four events of each call; MPI_Init and MPI_Finalize have two, and the program's begin and end are events
        missing = (8 + 4 * int(more)) * done + 6 * int(ranks) - trace["events"] - trace["unwritten"]
        print(f"{missing} events neither written nor counted as such, {trace['dropped']} records lost of one to five events")
        assert trace["dropped"] <= missing <= 5 * trace["dropped"]
        assert (trace["unwritten"] == 0) == (trace["error"] is None)
    else:
        assert trace["error"] is None
        assert all(done <= count + lost and count <= begun for count in entered)
        assert lost > 0 or all(count == c for count, c in zip(entered, counted))
