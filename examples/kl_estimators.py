"""Repeats the toy of Schulman 2020, "Approximating KL Divergence", with agentgym's estimators.

q = N(0, 1) samples, and p = N(0.1, 1) or N(1, 1) is the reference. For each estimator of KL[q, p]
the bias and the standard deviation of one sample are printed, both over the true divergence, beside
the figures of the post.

    python examples/kl_estimators.py [SAMPLES]
"""

import sys

import torch

from agentgym.train.losses import Estimator, divergence

THEIRS = {
    (0.1, Estimator.K1): ("0", "20"),
    (0.1, Estimator.K2): ("0.002", "1.42"),
    (0.1, Estimator.K3): ("0", "1.42"),
    (1.0, Estimator.K1): ("0", "2"),
    (1.0, Estimator.K2): ("0.25", "1.73"),
    (1.0, Estimator.K3): ("0", "1.7"),
}
"""Bias and standard deviation over the true divergence, by the mean of p and the estimator."""


def measure(mean: float, estimator: Estimator, samples: int) -> tuple[float, float]:
    """Return the bias and the standard deviation of an estimator over the true divergence."""
    drawn = torch.randn(samples, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    reference = -((drawn - mean) ** 2) / 2
    found = divergence(-(drawn**2) / 2, reference, estimator)
    true = mean**2 / 2
    return (found.mean().item() - true) / true, found.std().item() / true


def main(samples: int) -> None:
    """Print the table."""
    print(
        "| mean of p | estimator | bias / true: ours | theirs | deviation / true: ours | theirs |"
    )
    print("|---|---|---|---|---|---|")
    for (mean, estimator), (bias, deviation) in THEIRS.items():
        ours = measure(mean, estimator, samples)
        told = (f"{mean:g}", estimator, f"{ours[0]:.3f}", bias, f"{ours[1]:.2f}", deviation)
        print(f"| {' | '.join(told)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
