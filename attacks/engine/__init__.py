"""The engine: units of sampling work whose counts add, on one core, a pool or a cluster, with checkpoints.

Reading order: `work` (a unit, a stream of units, a checkpoint), `play` (choose the rule, count, stop), `run` (an experiment in,
evidence out), `recheck` (evidence held against its audit, without sampling), `reproducible` (which code may be sampled in another
process or another run).
"""
