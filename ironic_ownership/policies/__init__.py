"""The policies that come with the project: pure, and loaded like any other."""
