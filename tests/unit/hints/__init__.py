"""Every hint is carried out, and what it resolves is gone.

A finding, a gate or a reason without a case makes a test fail: a hint that was
never tried is a dead end for an operator.
"""
