"""Evaluation: plans a run, runs its episodes, and reports each agent's scores with intervals."""
