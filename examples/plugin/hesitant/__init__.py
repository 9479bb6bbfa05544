"""Mechanisms of a package of its own; `ldpaudit mechanisms` lists them."""
