"""The executables: each parses its arguments and calls one package."""
