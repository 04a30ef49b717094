"""Nemesis: random faults against real host processes, and a law checker.

``python -m benchmarks.nemesis --help`` shows the options, and
``doc/source/contributor/nemesis.rst`` the meaning of each figure. Only
``driver`` and ``broken`` import the product: they run inside the host
processes. All that evaluates the laws reads SQL, HTTP and log files.
"""
