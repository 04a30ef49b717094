"""Tests of the packages that are written for plugin authors."""
