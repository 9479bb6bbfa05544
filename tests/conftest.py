from __future__ import annotations

from hypothesis import settings

# A first example may fill a cache, and the machine may be busy: neither is a failure.
settings.register_profile("ldpaudit", deadline=None)
settings.load_profile("ldpaudit")
