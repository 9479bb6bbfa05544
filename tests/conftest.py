from __future__ import annotations

from hypothesis import settings

# A first example may fill a cache, and the machine may be busy: neither is a failure.
settings.register_profile("search", deadline=None)
# The same examples each time: a check that fails now and then is no check. `./run test --slow` searches.
settings.register_profile("ldpaudit", deadline=None, derandomize=True)
settings.load_profile("ldpaudit")
