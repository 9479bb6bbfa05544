"""Work in other processes: user code with a time limit, shards of an experiment, and long runs.

Read `worker_processes` (code of users, apart from ours) and `executor` (our own work on several cores), then `experiment` and
`shards` (one experiment in parts, on one machine or many) and `runs` (a mechanism run on a whole data set).

Imports: the nouns, `core`, `mechanisms`, `adapters`, `files`.
"""
