"""Whether the tests notice a line of the library that is broken: `make bench-mutants`."""
