"""Tokens out of prompts: the `Engine` protocol, its backends, the model catalogue. Knows no text format."""
