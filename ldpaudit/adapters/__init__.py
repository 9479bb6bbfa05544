"""Third-party randomizers as samplers, by duck typing: no other library is imported."""
