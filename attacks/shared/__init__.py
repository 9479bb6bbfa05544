"""Scores that several stems share."""
