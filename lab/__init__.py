"""Real servers on loopback, for the quickstart, the tests and the benchmarks.

Each server is one class with ``start()`` and ``stop()``, keeps its files in a
directory of its own and listens on a free port of 127.0.0.1. Nothing here is
installed with the package.
"""
