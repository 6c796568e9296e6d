"""Losses over pairs of completions of which one is preferred."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class PreferenceLoss:
    """A loss by pair.

    Attributes:
        values: ``float[P]``, to be minimised.
        margins: ``float[P]``, the implicit reward of the chosen completion minus that of the
            rejected one; detached.
    """

    values: Tensor
    margins: Tensor


def dpo(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    *,
    beta: float = 0.1,
    smoothing: float = 0.0,
) -> PreferenceLoss:
    """Return ``-log sigmoid(h)``, ``h = beta * (log pi/ref (chosen) - log pi/ref (rejected))``.

    With `smoothing` e, the loss is ``-(1 - e) * log sigmoid(h) - e * log sigmoid(-h)``: a share e
    of the preferences is taken to be the wrong way round.

    Sources: Rafailov et al. 2023, "Direct Preference Optimization", equation 7; `smoothing` is
    Mitchell 2023, "A note on DPO with noisy preferences" (conservative DPO), equation 3.

    Args:
        chosen: ``float[P]``, the sum of the log-probabilities of the tokens of each preferred
            completion under the trained policy.
        rejected: ``float[P]``, of the other completion.
        reference_chosen: ``float[P]``, under the reference policy; a constant.
        reference_rejected: ``float[P]``, likewise.
        beta: Strength of the bond to the reference policy, above 0.
        smoothing: At least 0, below 0.5.

    Raises:
        ValueError: A parameter is out of range, or the shapes differ.
    """
    shapes = {tuple(t.shape) for t in (chosen, rejected, reference_chosen, reference_rejected)}
    if len(shapes) != 1 or chosen.dim() != 1:
        raise ValueError(f"shapes differ or are no vectors: {sorted(shapes)}")
    if beta <= 0:
        raise ValueError(f"beta: expected a number above 0, got {beta}")
    if not 0 <= smoothing < 0.5:
        raise ValueError(f"smoothing: expected a number from 0 to below 0.5, got {smoothing}")
    reference = (reference_chosen - reference_rejected).detach()
    margins = beta * (chosen - rejected - reference)
    values = -(1 - smoothing) * functional.logsigmoid(margins)
    if smoothing:
        values = values - smoothing * functional.logsigmoid(-margins)
    return PreferenceLoss(values, margins.detach())
