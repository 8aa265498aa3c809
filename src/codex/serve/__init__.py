"""Transports: each a thin adapter from its protocol to the pipeline."""
