"""Metrics, logs. Knows no transport."""
