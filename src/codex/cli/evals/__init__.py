"""One file a subcommand of `codex-cli eval`."""
