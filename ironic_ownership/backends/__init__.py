"""The membership backends of this package, loaded through entry points."""
