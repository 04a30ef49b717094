"""Performance figures, each next to that of a peer in the same run.

Not shipped, and no tests: a figure depends on the machine. Run one module,
``python -m benchmarks.startup``, or all of them, ``python -m benchmarks``.
"""
