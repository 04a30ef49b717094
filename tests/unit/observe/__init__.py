"""Tests of the columns that operators see."""
