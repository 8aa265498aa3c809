"""Text into prompts: FIM and chat templates, budgets. Knows no engine."""
