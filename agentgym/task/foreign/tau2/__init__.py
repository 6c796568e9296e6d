"""tau2-bench: a checkout's domains, read where they are and judged by that benchmark's own rules.

The rules are those of tau2-bench 1.0 (its `docs/evaluation.md` and evaluators); docs/tau2.md says
what of them is reproduced.
"""
