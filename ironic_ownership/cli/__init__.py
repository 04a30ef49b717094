"""The operators' command line: parse, ask the engine, show rows.

No command decides anything, and none imports at its top what another one
does not need: every start of the program pays for imports.
"""
