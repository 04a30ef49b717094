"""Directory that the launcher adds to the drivers of Nova."""
