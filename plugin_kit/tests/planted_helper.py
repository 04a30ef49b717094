"""A module of state beside the planted faults."""

import threading

calls = 0
lock = threading.RLock()
