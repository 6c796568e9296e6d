"""The optimiser of a policy: Adam over weights in float32, whatever the model computes in.

A step of a small learning rate is lost when it is added to a number of 8 bits of mantissa. So the
weights of a bfloat16 model have copies in float32, which collect the gradients, are changed, and
are rounded back (Micikevicius et al. 2018, "Mixed precision training").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from agentgym.errors import ConfigError


class Optimizer:
    """AdamW (Loshchilov and Hutter 2019); see the module.

    Args:
        weights: The weights to train.
        learning_rate: The first learning rate.
        weight_decay: Share of a weight that a step of learning rate 1 takes away.
        final: The last learning rate, as a share of the first.
        updates: How often `decay` is called until it is reached.
    """

    def __init__(
        self,
        weights: Iterable[Tensor],
        learning_rate: float,
        *,
        weight_decay: float = 0.0,
        final: float = 1.0,
        updates: int = 1,
    ) -> None:
        self._weights = [each for each in weights if each.requires_grad]
        self._copies = [
            each if each.dtype == torch.float32 else nn.Parameter(each.detach().float())
            for each in self._weights
        ]
        self._adam = torch.optim.AdamW(self._copies, learning_rate, weight_decay=weight_decay)
        self._schedule = torch.optim.lr_scheduler.LinearLR(
            self._adam, 1.0, final, total_iters=updates
        )

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a loss to those that are there."""
        torch.autograd.backward(loss)
        for weight, copy in self._pairs():
            if weight.grad is not None:
                copy.grad = weight.grad.float() if copy.grad is None else copy.grad + weight.grad
                weight.grad = None

    @torch.no_grad()
    def step(self, gradient_norm: float) -> float:
        """Change the weights, and forget the gradients.

        Args:
            gradient_norm: Gradients of a larger norm are scaled to it.

        Returns:
            The norm before that.

        Raises:
            ConfigError: The gradient, or a weight after it, is no finite number.
        """
        norm = nn.utils.clip_grad_norm_(self._copies, gradient_norm)
        if not math.isfinite(norm):
            raise _diverged(f"the norm of the gradient is {float(norm)}")
        self._adam.step()
        self._adam.zero_grad()
        # One look at all norms together: each look waits for the device.
        norms = torch.stack([torch.linalg.vector_norm(each) for each in self._copies])
        if not norms.isfinite().all():
            raise _diverged("a weight is no finite number any more")
        for weight, copy in self._pairs():
            weight.copy_(copy)
        return float(norm)

    def decay(self) -> None:
        """Lower the learning rate by one of its steps; it falls linearly."""
        self._schedule.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the moments of Adam, the learning rate, and the copies of the weights."""
        return {
            "adam": self._adam.state_dict(),
            "schedule": self._schedule.state_dict(),
            "copies": [copy.detach() for _, copy in self._pairs()],
        }

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`.

        Raises:
            ValueError: It belongs to another model.
        """
        # Adam converts moments of any shape, and a few bytes of a file can be a large tensor.
        for index, moments in state["adam"]["state"].items():
            shape = self._copies[index].shape
            if any(value.numel() > 1 and value.shape != shape for value in moments.values()):
                raise ValueError("the moments of a weight have another shape than the weight")
        self._adam.load_state_dict(state["adam"])
        self._schedule.load_state_dict(state["schedule"])
        for (_, copy), held in zip(self._pairs(), state["copies"], strict=True):
            copy.copy_(held)

    def _pairs(self) -> list[tuple[Tensor, Tensor]]:
        """Return the weights that have a copy, each with it."""
        pairs = zip(self._weights, self._copies, strict=True)
        return [(weight, copy) for weight, copy in pairs if weight is not copy]


def _diverged(what: str) -> ConfigError:
    return ConfigError(
        f"the policy cannot learn any further: {what}; choose a smaller learning_rate, or smaller "
        "weights of the other terms of the loss"
    )
