"""Work in other processes: user code with a time limit, shards of an experiment, and long runs.

Read `worker_processes` (calls in processes of their own: users' code apart from ours, and our own work on several cores), then
`experiment` and `shards` (one experiment in parts, on one machine or many) and `runs` (a mechanism run on a whole data set).

May import the nouns, `core`, `mechanisms`, `adapters`, `files`.
"""
