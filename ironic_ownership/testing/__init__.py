"""What authors of plugins test with: contract suites and fakes. Shipped.

Subclass a suite, say how to build your plugin, and run it with any runner
that knows ``unittest``. Import the suite's module, not its class, or the
runner also collects the bare suite. Standard library and contracts only, but
for ``fakes``, which gives a plugin the surroundings of a deployment.
"""
