"""Certificates for people and programs to read: no mathematics, no decisions."""
