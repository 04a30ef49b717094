"""Tests of the plugin of OpenStackClient."""
