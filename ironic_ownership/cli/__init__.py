"""The operators' command line: parse, call an operation, show rows.

No command decides anything, and no module imports at its top what only
another command needs: every start of the program pays for imports.
"""
