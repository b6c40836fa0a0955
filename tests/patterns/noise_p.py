"""noise.c in Python: one step in forty takes thirty times as long, at one rank or another."""
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
mended = sys.argv[1:] == ["mended"]

world.Barrier()
began = MPI.Wtime()
for step in range(240):
    late = not mended and step % 40 == 17 and step // 40 % world.size == world.rank
    time.sleep(0.060 if late else 0.002)
    world.Barrier()  # here
if world.rank == 0:
    print(f"{MPI.Wtime() - began:.6f}")
