"""The built-in policies: pure, and loaded like those of third parties."""
