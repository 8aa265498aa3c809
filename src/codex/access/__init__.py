"""Who may ask how much: admission and limits. Knows no transport."""
