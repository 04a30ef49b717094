"""What the performance figures come from: each beside its peer's, same run.

Not shipped, and no test: a figure depends on the machine. Each module runs
alone, ``python -m benchmarks.startup``, or all one after the other,
``python -m benchmarks``.
"""
