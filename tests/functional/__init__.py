"""Functional tests: real servers, real processes."""

import signal

# What runs in the background of a shell ignores SIGINT, and so would all
# the programs that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
