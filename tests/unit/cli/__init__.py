"""Tests of the command line, in memory."""
