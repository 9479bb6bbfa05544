"""Composition of plans."""

from __future__ import annotations
