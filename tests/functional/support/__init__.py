"""Servers, processes and cases that the functional tests share."""
