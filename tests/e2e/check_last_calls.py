"""check_last_calls.py REPORT.json LOG: the last calls of each rank are those that the program logged itself."""
import collections
import json
import sys

report = json.load(open(sys.argv[1]))
logged = collections.defaultdict(list)
for line in open(sys.argv[2]):
    entry = json.loads(line)
    calls = logged[entry["rank"]]
    if entry["when"] == "before":
        calls.append(dict(entry, over=False))
    else:
        assert calls[-1]["n"] == entry["n"]
        calls[-1]["over"] = True


def is_same(told, call):
    if told["name"] != call["name"]:
        return False
    if told["inside"]:  # what it would have sent or received is not known before it is over
        return not call["over"]
    for side, end in ("sent", "to"), ("received", "from"):
        if end in call:
            wanted = (call[end], call[end + "_tag"], call[end + "_bytes"])
            if (told[side][end], told[side]["tag"], told[side]["bytes"]) != wanted:
                return False
    return True


def agree(told, calls):
    return len(calls) >= len(told) and all(map(is_same, told, calls[-len(told):]))


failures = 0
compared = 0
for trouble in report["troubles"]:
    told, calls = trouble["last_calls"], logged[trouble["rank"]]
    # killed from outside between a line and its call: the last one was not entered
    ends = [calls] if calls[-1]["over"] or told and told[-1]["inside"] else [calls, calls[:-1]]
    compared += len(told)
    times = [call["enter_s"] for call in told]
    if len(told) != 8 or not any(agree(told, end) for end in ends):
        failures += 1
        print("rank", trouble["rank"], "was told to have done")
        for call in told:
            print("   ", call["name"], call["inside"], call["sent"], call["received"])
        print("and logged")
        for call in calls[-9:]:
            print("   ", call)
    if times != sorted(times) or any(call["before_end_s"] < call["length_s"] - 1e-6 for call in told):
        failures += 1
        print("rank", trouble["rank"], "has impossible times", told)
if compared == 0:
    print("nothing was compared")
print(compared, "calls compared")
sys.exit(failures > 0 or compared == 0)
