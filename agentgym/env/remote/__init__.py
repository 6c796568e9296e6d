"""Environments on another machine: the wire protocol of ``agentgym serve``, and its client."""
