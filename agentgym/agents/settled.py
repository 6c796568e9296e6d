"""A decision in the form in which a record holds it, made of plain values alone.

Objects of an agent's own classes run the agent's code whenever they are read, and may answer
otherwise each time. An agent that has a thread of its own is therefore read there.
"""

from __future__ import annotations

from dataclasses import fields, replace

from agentgym.errors import PolicyError
from agentgym.record import codec
from agentgym.records import Decision, Generation, TokenTrace, TokenUsage
from agentgym.records.bounds import bounded_decision, flaw_of_decision


def settled(decision: object) -> Decision:
    """Return an agent's decision as a record holds it.

    Raises:
        PolicyError: It is no decision, or one that cannot be used.
        ValueError: JSON cannot hold it.
    """
    if not isinstance(decision, Decision):
        raise PolicyError(f"act() must return a Decision, not {type(decision).__name__}")
    if flaw := flaw_of_decision(decision):
        raise PolicyError(f"act() returned a Decision that cannot be used: {flaw}")
    bounded = bounded_decision(decision)
    value = codec.loads(codec.decision_to_text(bounded))
    generations = bounded.generations
    if generations is not None:
        generations = tuple(map(plain_generation, generations))
    return codec.decision_from_json(value, plain_usage(bounded.usage), generations)


def plain_usage(usage: TokenUsage) -> TokenUsage:
    """Return counts of tokens without objects of other classes."""
    return TokenUsage(*(getattr(usage, field.name) for field in fields(TokenUsage)))


def plain_generation(generation: Generation) -> Generation:
    """Return a generation without objects of other classes, with arrays of its own.

    The arrays are checked once more: an agent may have written into them since.

    Raises:
        ValueError: It cannot be recorded.
    """
    given = generation.tokens
    tokens = TokenTrace(*(getattr(given, field.name) for field in fields(TokenTrace)))
    plain = Generation(*(getattr(generation, field.name) for field in fields(Generation)))
    words = codec.dumps([plain.finish_reason, plain.policy_version, plain.sampling])
    finish_reason, policy_version, sampling = codec.loads(words)
    return replace(
        plain,
        tokens=tokens,
        finish_reason=finish_reason,
        policy_version=policy_version,
        sampling=sampling,
    )
