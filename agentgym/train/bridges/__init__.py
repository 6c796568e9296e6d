"""Adapters to the interfaces of other trainers (docs/bridges.md), one module a trainer.

A module imports its trainer's package only if it must derive from a class of it.
"""
