"""Power hardware that is not there, for demonstrations and tests: one kind a file, with faults when it is told so."""
