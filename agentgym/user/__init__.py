"""Simulated users: people that an agent can write to, who know, want and do things of their own."""
