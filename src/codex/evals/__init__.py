"""Measures what users feel, on any engine or server by URL."""
