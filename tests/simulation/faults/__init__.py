"""Faults, changes of Ironic, and commands of operators."""
