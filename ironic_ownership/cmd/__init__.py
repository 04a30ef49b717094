"""The executables: each reads its arguments, calls one room, and exits."""
