"""Contract suites of the internal ports, and their fakes."""
