"""Clients that are what was certified: one report, drawn exactly from random bytes, and other people's clients held to it.

Read `randomness` (exact coins and uniform numbers from bytes), `samplers` (one report of each mechanism, in the order of
draws that docs/clients.md states), `vectors` (bytes in, report out) and `conformance` (a client against them).

`reference` has three clients without dependencies, in Python, JavaScript and C, and stands in examples/clients.

May import the nouns, `core`, `mechanisms`, `adapters`.
"""
