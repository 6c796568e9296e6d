"""Surfaces: the actions and observations of an agent, as tools with JSON Schemas."""
