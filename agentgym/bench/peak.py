"""The largest rate of arithmetic of a device: of the data sheet, or of a large product of matrices.

Dense bfloat16, without sparsity, from the vendors' data sheets.
"""

from __future__ import annotations

import time
from typing import Final

import torch

_TFLOPS: Final = {
    "B200": 2250.0,
    "H200": 989.0,
    "H100 PCIE": 756.0,
    "H100": 989.0,
    "A100": 312.0,
    "A10G": 70.0,
    "L40S": 362.0,
    "L4": 121.0,
    "RTX 4090": 165.0,
}


def peak_flops(device: torch.device, dtype: torch.dtype) -> tuple[float, str]:
    """Return the operations a second of a device, and where the number is from."""
    if device.type == "cuda" and dtype == torch.bfloat16:
        name = torch.cuda.get_device_name(device)
        words = name.upper().replace("-", " ").split()
        for known, tflops in _TFLOPS.items():
            if set(known.split()) <= set(words):
                return tflops * 1e12, f"data sheet of {known}"
    return _measured(device, dtype), "a large product of matrices on this device"


def _measured(device: torch.device, dtype: torch.dtype) -> float:
    size = 8192 if device.type == "cuda" else 512
    left = torch.ones(size, size, device=device, dtype=dtype)
    best_s = float("inf")
    for _ in range(6):
        wait(device)
        started = time.perf_counter()
        torch.matmul(left, left)
        wait(device)
        best_s = min(best_s, time.perf_counter() - started)
    return 2.0 * size**3 / best_s


def wait(device: torch.device) -> None:
    """Wait until a device has finished all queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
