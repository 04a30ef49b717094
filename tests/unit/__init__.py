"""Unit tests: one module at a time, in memory.

hypothesis tries a few dozen examples, the same ones in every run. With
``HYPOTHESIS_PROFILE=thorough`` it tries many more, others each time.
"""

import os

import hypothesis

# A machine that is busy with something else makes no test fail.
_PATIENT = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    'quick', _PATIENT, max_examples=50, derandomize=True
)
hypothesis.settings.register_profile('thorough', _PATIENT, max_examples=1500)
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'quick'))
