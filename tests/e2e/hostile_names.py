"""An archive whose names, of hosts, processes, threads, regions and files, have the given bytes in them."""
import sys

import otf2
from otf2.enums import LocationGroupType, LocationType, Paradigm, RegionRole

folder, marks = sys.argv[1], sys.argv[2].encode().decode("unicode_escape")
with otf2.writer.open(folder, timer_resolution=1000000000) as trace:
    define = trace.definitions
    node = define.system_tree_node(marks + "host")
    work = define.region(marks + "work", source_file=marks + "app.c", begin_line_number=5,
                         region_role=RegionRole.FUNCTION)
    barrier = define.region("MPI_Barrier" + marks, paradigm=Paradigm.MPI, region_role=RegionRole.BARRIER)
    for rank in range(3):
        group = define.location_group(marks + "rank %d" % rank, system_tree_parent=node,
                                      location_group_type=LocationGroupType.PROCESS)
        writer = trace.event_writer_from_location(
            define.location(marks + "thread", group=group, type=LocationType.CPU_THREAD))
        for step in range(20):
            writer.enter(4000 * step + 1000, work)
            writer.leave(4000 * step + 1000 * (rank + 2), work)
            writer.enter(4000 * step + 1000 * (rank + 2), barrier)
            writer.leave(4000 * step + 5000, barrier)
