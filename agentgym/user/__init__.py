"""Simulated users: people with knowledge, wishes and tools, to whom an agent can write."""
