"""Unit tests: one module at a time, in memory.

hypothesis tries a few dozen examples, the same ones in every run. With
``HYPOTHESIS_PROFILE=thorough`` it tries many more, others each time.
"""

import os

import hypothesis

hypothesis.settings.register_profile(
    'quick', deadline=None, max_examples=50, derandomize=True
)
hypothesis.settings.register_profile(
    'thorough', deadline=None, max_examples=1500
)
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'quick'))
