"""What `codex-cli doctor` looks at, one file a group of checks. Each check only looks: it changes nothing."""

from codex.cli.checks.diagnosis import Check, Diagnosis, State

__all__ = ["Check", "Diagnosis", "State"]
