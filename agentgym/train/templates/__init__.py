"""Templates that turn episodes into tokens and completions into calls."""
