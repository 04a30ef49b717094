"""What tools/quickstart runs: ``python -m lab.quickstart``."""
