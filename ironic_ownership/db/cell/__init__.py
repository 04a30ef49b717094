"""The tables of a Nova cell, written by SQL; Nova itself is not imported."""
