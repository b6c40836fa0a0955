"""check_regions.py TRACE RANKS THREADS ITERATIONS WORK SYNC: in each iteration every thread is once in region WORK and
each rank's first thread once in region SYNC, after it; nothing else overlaps. 77: no otf2 module."""
import sys

try:
    import otf2
except ImportError:
    sys.exit(77)

trace, (ranks, threads, iterations), (work, sync) = sys.argv[1], map(int, sys.argv[2:5]), sys.argv[5:7]
seen = {}
with otf2.reader.open(trace) as reader:
    for location, event in reader.events:
        if isinstance(event, (otf2.events.Enter, otf2.events.Leave)) and event.region.name in (work, sync):
            seen.setdefault(location, []).append((type(event).__name__, event.region.name))

share = [("Enter", work), ("Leave", work)]
main, other = (share + [("Enter", sync), ("Leave", sync)]) * iterations, share * iterations
mains = sum(events == main for events in seen.values())
others = sum(events == other for events in seen.values())
if (mains, others, len(seen)) != (ranks, ranks * (threads - 1), ranks * threads):
    for location, events in seen.items():
        print(f"{location.group.name}, {location.name}: {len(events)} events of regions, first {events[:6]}")
    sys.exit(f"{mains} first and {others} further threads as they should be, of {ranks} ranks with {threads} threads each")
