"""A Nova cell next to the records, read and written without importing Nova."""
