# The MPI flavours of this machine. Only their headers are needed to build gnomon: nothing of it is linked with MPI.
# Sets GNOMON_FLAVOURS, and for each: GNOMON_<flavour>_INCLUDE, _MPICC, _MPIRUN.

set(GNOMON_FLAVOURS "")
foreach(flavour openmpi mpich)
  find_program(GNOMON_${flavour}_MPICC NAMES mpicc.${flavour})
  find_program(GNOMON_${flavour}_MPIRUN NAMES mpirun.${flavour})
  if(NOT GNOMON_${flavour}_MPICC)
    message(STATUS "MPI flavour ${flavour}: not found")
    continue()
  endif()
  # Both wrappers answer -show with the compiler command they would run; its -I options are the header folders.
  execute_process(COMMAND ${GNOMON_${flavour}_MPICC} -show OUTPUT_VARIABLE command OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "-I[^ ]+" folders "${command}")
  list(TRANSFORM folders REPLACE "^-I" "")
  set(GNOMON_${flavour}_INCLUDE ${folders})
  list(APPEND GNOMON_FLAVOURS ${flavour})
  message(STATUS "MPI flavour ${flavour}: ${GNOMON_${flavour}_MPICC}")
endforeach()
if(NOT GNOMON_FLAVOURS)
  message(FATAL_ERROR "No MPI found: install Open MPI (libopenmpi-dev) or MPICH (libmpich-dev); see make setup")
endif()
