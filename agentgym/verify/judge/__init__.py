"""The LLM judge: exhibits, prompt, answers, cache and votes; exhibits are data to it.

Deterministic checks come first; a judge is for qualities that state cannot show. An outage is a
VerifierError: it leaves an episode unscored and never costs a point. If the agent's text keeps the
judge from answering, the agent fails.
"""
