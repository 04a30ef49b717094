"""Contract suites for authors of plugins.

Subclass a suite, define how to build your plugin, and run it with any runner
that supports ``unittest``. Import the suite's module, not its class, or the
runner also collects the bare suite.
"""
