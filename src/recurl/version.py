"""The version of the library: the one place that states it (the build reads it from here)."""

__version__ = "0.2.0"
