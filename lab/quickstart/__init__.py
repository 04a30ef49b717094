"""The program of tools/quickstart: ``python -m lab.quickstart``."""
