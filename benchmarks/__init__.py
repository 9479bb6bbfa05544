"""Measurements of what tests do not assert, over one shared module (`experiment`); run one by `python -m benchmarks.NAME`."""
