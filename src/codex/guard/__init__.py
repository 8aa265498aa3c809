"""Nothing harmful or broken leaves: answer passes, stop strings, structure. Knows no engine."""
