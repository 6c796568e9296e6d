"""Evaluation: plan a run, run its episodes, and say with intervals how well each agent did."""
