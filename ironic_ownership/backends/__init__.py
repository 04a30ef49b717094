"""Membership backends, loaded through entry points; ``db`` is in ``db``."""
