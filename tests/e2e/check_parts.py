"""check_parts.py GNOMON RUN LINE: parts of a traced run of fixtures/phases.c, cut anywhere: in each it is the rank that
takes longer there that holds the others up. LINE: of the first call in the second half. Times are those of rank 0."""
import json
import random
import subprocess
import sys

gnomon, run, line = sys.argv[1:]


def ask(command, *options):
    return subprocess.run([gnomon, command, *options, run], capture_output=True, text=True, check=True).stdout


rows = [row.split(",") for row in ask("export", "--to", "csv").splitlines()[1:]]
others = len({row[3] for row in rows}) - 1
rows = [row for row in rows if row[3] == "0"]
calls = [(int(row[0]) * 1e-9, row[7].rsplit(":", 1)[-1] == line) for row in rows if row[5] == "enter" and row[6] == "MPI_Reduce"]
first, half, last = calls[0][0], min(at for at, is_second in calls if is_second), calls[-1][0]
whole = json.loads(ask("stragglers", "--between", "0,", "--format", "json"))["between"]
begin = whole["run_s"] - int(rows[-1][0]) * 1e-9  # of the trace, in the run's time
random.seed(1)
for rank, low, high in [(0, first, half)] * 12 + [(1, half, last)] * 12:
    a = random.uniform(low + 0.005, high - 0.12)
    b = random.uniform(a + 0.1, high - 0.01)
    part = f"{begin + a:.6f},{begin + b:.6f}"
    answer = json.loads(ask("stragglers", "--between", part, "--format", "json"))
    told = answer["stragglers"][0]
    assert told["name"] == f"rank {rank}", (part, rank, told)
    # 5 of 6 ms of each step, where the machine does nothing else
    waited = told["caused_s"]["lo"]
    assert 0.25 * (b - a) < waited < 1.1 * others * (b - a), (part, waited)
    assert abs(answer["length_s"]["lo"] - (b - a)) < 0.03, (part, answer["length_s"])
    critical = json.loads(ask("critical", "--between", part, "--by", "rank", "--format", "json"))
    assert abs(critical["between"]["from_s"] - begin - a) < 1e-3
    whatif = json.loads(ask("whatif", "--between", part, "--format", "json"))
    assert whatif["between"] == critical["between"], whatif["between"]
    frames = json.loads(ask("frames", "--between", part, "--format", "json"))
    assert frames["between"] == critical["between"]
print("24 parts")
