! Rank 1 takes four times as long as the others in one place, at each step.
program imbalance
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c, name='usleep')
      import :: c_int
      integer(c_int), value :: us
    end function
  end interface
  integer :: ierror, rank, step, us
  integer(c_int) :: ignored
  double precision :: mine, all, began
  character(len=16) :: how = ''
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  if (command_argument_count() > 0) call get_command_argument(1, how)
  us = merge(8000, 2000, rank == 1 .and. how /= 'mended')
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  began = MPI_Wtime()
  do step = 1, 100
    mine = step
    ignored = usleep(int(us, c_int))
    call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror) ! here
  end do
  if (rank == 0) print '(f0.6)', MPI_Wtime() - began
  call MPI_Finalize(ierror)
end program
