"""Run against the installed packages, from anywhere."""
