! Fortran 2008 style (`use mpi_f08`): handles are types, and ierror may be left out.
!
! The communication is in a module with the field as a type; exchange() has a contained procedure that does one
! direction. Each iteration: exchange (Isend, Irecv, Waitall; MPI_PROC_NULL beyond the ends), smooth, Allreduce in
! place. At the end a Sendrecv whose status is read, and a sum over even and odd ranks apart (Comm_split).
module line_field
    use mpi_f08
    implicit none
    private
    public :: line, line_create, line_smooth, line_exchange, line_check_ring

    type :: line
        type(MPI_Comm) :: comm
        integer :: rank, ranks, count
        double precision, allocatable :: u(:), v(:)
    end type

contains

    subroutine line_create(this, comm, total)
        type(line), intent(out) :: this
        type(MPI_Comm), intent(in) :: comm
        integer, intent(in) :: total
        integer :: i
        this%comm = comm
        call MPI_Comm_rank(comm, this%rank)
        call MPI_Comm_size(comm, this%ranks)
        this%count = total/this%ranks
        allocate (this%u(0:this%count + 1), this%v(0:this%count + 1))
        this%u = 0
        do i = 1, this%count
            this%u(i) = mod((this%rank*this%count + i)*13, 1009)
        end do
        this%v = this%u
    end subroutine

    subroutine line_exchange(this)
        type(line), intent(inout), asynchronous :: this
        type(MPI_Request) :: requests(4)
        integer :: lower, upper
        lower = merge(MPI_PROC_NULL, this%rank - 1, this%rank == 0)
        upper = merge(MPI_PROC_NULL, this%rank + 1, this%rank == this%ranks - 1)
        call start(1, this%u(this%count), upper, this%u(0), lower)
        call start(3, this%u(1), lower, this%u(this%count + 1), upper)
        call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)

    contains

        ! Sends `out` and receives `in` by requests(at) and requests(at + 1).
        subroutine start(at, out, to, in, from)
            integer, intent(in) :: at, to, from
            double precision, intent(in), asynchronous :: out
            double precision, intent(inout), asynchronous :: in
            call MPI_Irecv(in, 1, MPI_DOUBLE_PRECISION, from, at, this%comm, requests(at))
            call MPI_Isend(out, 1, MPI_DOUBLE_PRECISION, to, at, this%comm, requests(at + 1))
        end subroutine

    end subroutine

    ! Returns the largest change.
    function line_smooth(this) result(change)
        type(line), intent(inout) :: this
        double precision :: change
        integer :: i
        change = 0
        do i = 1, this%count
            this%v(i) = 0.25d0*this%u(i - 1) + 0.5d0*this%u(i) + 0.25d0*this%u(i + 1)
            change = max(change, abs(this%v(i) - this%u(i)))
        end do
        this%u(1:this%count) = this%v(1:this%count)
    end function

    ! Each rank's number goes to the right; the status must say from where it came.
    subroutine line_check_ring(this)
        type(line), intent(in) :: this
        type(MPI_Status) :: status
        integer :: left, right, arrived, length
        right = mod(this%rank + 1, this%ranks)
        left = mod(this%rank + this%ranks - 1, this%ranks)
        call MPI_Sendrecv(this%rank, 1, MPI_INTEGER, right, 5, arrived, 1, MPI_INTEGER, left, MPI_ANY_TAG, &
                          this%comm, status)
        call MPI_Get_count(status, MPI_INTEGER, length)
        if (arrived /= left .or. status%MPI_SOURCE /= left .or. status%MPI_TAG /= 5 .or. length /= 1) then
            print *, 'stencil_f08: rank', this%rank, ': wrong status', status%MPI_SOURCE, status%MPI_TAG
            call MPI_Abort(MPI_COMM_WORLD, 1)
        end if
    end subroutine

end module

program stencil_f08
    use mpi_f08
    use line_field
    implicit none
    type(line) :: field
    type(MPI_Comm) :: half
    integer :: rank, iterations, end_status, i
    double precision :: change, total

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call read_options(end_status)
    if (end_status >= 0) then
        call MPI_Finalize()
        if (end_status /= 0) stop 2
        stop
    end if
    call MPI_Bcast(iterations, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call line_create(field, MPI_COMM_WORLD, 4000000)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
    change = 0
    do i = 1, iterations
        call line_exchange(field)
        change = line_smooth(field)
        call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    end do
    call line_check_ring(field)
    total = sum(field%u(1:field%count))
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, half)
    if (rank == 0) print '(a,i0,a,f12.8,a,f16.4)', 'stencil_f08: ', iterations, ' iterations, change', change, &
        ', sum of the even ranks', total
    call MPI_Comm_free(half)
    call MPI_Finalize()

contains

    ! --iterations N, --help. Gives -1 to go on, else the status to end with.
    subroutine read_options(end_status)
        integer, intent(out) :: end_status
        character(64) :: name, value
        integer :: problem
        iterations = 120
        end_status = -1
        if (command_argument_count() == 0) return
        call get_command_argument(1, name)
        call get_command_argument(2, value)
        if (name == '--help') then
            if (rank == 0) print '(a)', 'usage: stencil_f08 [--iterations N]'
            end_status = 0
            return
        end if
        read (value, *, iostat=problem) iterations
        if (name == '--iterations' .and. problem == 0 .and. iterations >= 0 .and. command_argument_count() == 2) return
        if (rank == 0) write (0, '(5a)') 'stencil_f08: bad option ', trim(name), ' ', trim(value), ' (see --help)'
        end_status = 2
    end subroutine

end program
