# What people type. The build itself is CMake with presets (CMakePresets.json); here are only the commands.
#
#   make            builds          make demo       builds, measures an example, shows the report
#   make help       says the rest   make check      everything a change has to pass
#   make quick      builds, and tests for a minute at most
#
# GNOMON_SETUP=0 never installs packages, GNOMON_SETUP=1 always does; otherwise only when one is missing.

PREFIX ?= /usr/local
RELEASE := build/release
SETUP := scripts/setup.sh
MPI_ENV := . scripts/mpi_env.sh
C_FILES = $(shell find src include examples tests bench -name '*.[ch]')
# Sanitizers want the address space layout they were made for. Some containers do not allow to ask for it.
PLAIN_LAYOUT = $(shell setarch -R true 2>/dev/null && echo setarch -R)

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: help setup build demo quick check check-format check-manual bench bench-scaling table2 table345 soundness fidelity format install deb clean

help:
	@echo 'make build      release build in $(RELEASE) (the default)'
	@echo 'make demo       measure an example with 4 ranks and show the report'
	@echo 'make quick      release build, and the tests that say most in a minute: after each change'
	@echo 'make check      formatting, manual pages, tests: asan, tsan and ci builds'
	@echo 'make bench      what measuring costs, against the same run without it'
	@echo 'make bench-scaling  how the replay scales, on simulated machines of up to 1024 ranks'
	@echo 'make table2     fast sends by method of clock conversion, on two emulated hosts'
	@echo 'make table345   stragglers found and removed: predicted and actual run times, on four emulated hosts'
	@echo 'make soundness  whether any bound between clocks is ever wrong, over 10^8 of them'
	@echo 'make fidelity   whether repaired timestamps are to be believed, against the truth'
	@echo 'make setup      install the packages all of these need (scripts/packages.txt)'
	@echo 'make format     apply .clang-format'
	@echo 'make install    into PREFIX ($(PREFIX)), below DESTDIR when that is set'
	@echo 'make deb        a Debian package in build/deb'
	@echo 'make clean      remove build/'

setup:
	@$(SETUP) build demo test package

build:
	@$(SETUP) build
	cmake --preset release
	cmake --build --preset release

demo:
	@$(SETUP) build demo
	cmake --preset release
	cmake --build --preset release
	@scripts/demo.sh $(RELEASE)

quick:
	@$(SETUP) build demo test
	cmake --preset release
	cmake --build --preset release
	@$(MAKE) --no-print-directory check-format
	$(MPI_ENV); ctest --preset quick

# The ci preset comes last: it is the one that runs all tests, so the last lines are the whole result.
check:
	@$(SETUP) build demo test
	@$(MAKE) --no-print-directory check-format check-manual
	cmake --preset asan
	cmake --build --preset asan --target checked_asan
	$(MPI_ENV); $(PLAIN_LAYOUT) ctest --preset asan
	cmake --preset tsan
	cmake --build --preset tsan --target checked_tsan
	$(MPI_ENV); $(PLAIN_LAYOUT) ctest --preset tsan
	cmake --preset ci
	cmake --build --preset ci
	$(MPI_ENV); scripts/all_tests.sh

check-format:
	@clang-format --dry-run --Werror $(C_FILES)

check-manual:
	@mandoc -T lint -W warning man/*.[13]

bench:
	@$(SETUP) build demo test
	cmake --preset release
	cmake --build --preset release
	@$(MPI_ENV); python3 scripts/bench.py $(RELEASE)

bench-scaling:
	@$(SETUP) build demo test
	cmake --preset release
	cmake --build --preset release
	@$(MPI_ENV); python3 scripts/bench.py $(RELEASE) --only scaling

table2:
	@$(SETUP) build demo test
	cmake --preset release
	cmake --build --preset release
	@bench/table2.sh $(RELEASE)

table345:
	@$(SETUP) build demo test
	cmake --preset release
	cmake --build --preset release
	@$(MPI_ENV); bench/table345.py $(RELEASE)

soundness:
	@$(SETUP) build demo test
	cmake --preset release
	cmake --build --preset release
	@BUILD=$(CURDIR)/$(RELEASE) SOURCE=$(CURDIR) tests/soundness/all.sh

fidelity:
	@$(SETUP) build
	cmake --preset release
	cmake --build --preset release
	@scripts/fidelity.py $(RELEASE)
	@$(MPI_ENV); scripts/fidelity.py $(RELEASE) --uncertain

format:
	clang-format -i $(C_FILES)

install: build
	cmake --install $(RELEASE) --prefix "$(PREFIX)"

deb:
	@$(SETUP) build package
	cmake --preset deb
	cmake --build --preset deb
	cd build/deb && cpack -G DEB

clean:
	rm -rf build
