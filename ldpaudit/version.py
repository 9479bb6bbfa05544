"""The version, where whoever writes it into a certificate can read it without importing the package's public names."""

__version__ = "0.1.0"
