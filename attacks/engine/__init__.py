"""The engine: units of sampling work whose counts add, on one core, a pool or a cluster, with checkpoints.

Reading order: `work` (a unit, a stream of them, a checkpoint), `play` (choose the event, count, stop), `run` (arguments in,
evidence out), `reproducible` (which code may be sampled elsewhere).
"""
