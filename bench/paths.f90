! Callers in Fortran 2008 (paths.h): six levels of two call sites, each for every second bit of the route. What is
! stored after a call keeps it from becoming a jump, and from being shared with the call in the other branch.
module paths_callers
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
  use mpi_f08
  implicit none
  private
  integer(c_int), bind(C, name="paths_way") :: way
  integer, volatile :: mark
  public :: paths_f08
contains
  subroutine exchange()
    logical :: flag
    if (way == 0) then
      call MPI_Iprobe(0, 0, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE)
    else
      call PMPI_Iprobe(0, 0, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE)
    end if
    mark = 0
  end subroutine

  subroutine level_5(route)
    integer(c_int64_t), value :: route
    if (btest(route, 10)) then
      call exchange()
      mark = 1
    else
      call exchange()
      mark = 2
    end if
  end subroutine

  subroutine level_4(route)
    integer(c_int64_t), value :: route
    if (btest(route, 8)) then
      call level_5(route)
      mark = 1
    else
      call level_5(route)
      mark = 2
    end if
  end subroutine

  subroutine level_3(route)
    integer(c_int64_t), value :: route
    if (btest(route, 6)) then
      call level_4(route)
      mark = 1
    else
      call level_4(route)
      mark = 2
    end if
  end subroutine

  subroutine level_2(route)
    integer(c_int64_t), value :: route
    if (btest(route, 4)) then
      call level_3(route)
      mark = 1
    else
      call level_3(route)
      mark = 2
    end if
  end subroutine

  subroutine level_1(route)
    integer(c_int64_t), value :: route
    if (btest(route, 2)) then
      call level_2(route)
      mark = 1
    else
      call level_2(route)
      mark = 2
    end if
  end subroutine

  subroutine paths_f08(route) bind(C, name="paths_f08")
    integer(c_int64_t), value :: route
    if (btest(route, 0)) then
      call level_1(route)
      mark = 1
    else
      call level_1(route)
      mark = 2
    end if
  end subroutine
end module
