"""Surfaces: what an agent can do and see, as tools with JSON Schemas and observations."""
