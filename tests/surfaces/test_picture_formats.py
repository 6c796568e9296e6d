"""Pictures of servers and services: what is decoded, and what is not."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agentgym.surfaces.truncation import pixels

POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 3\n%%EndComments\nshowpage\n%%EOF\n"


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM"])
def test_pictures_of_usual_formats_are_decoded(format: str) -> None:
    out = io.BytesIO()
    Image.new("RGB", (32, 32), (250, 0, 0)).save(out, format)
    seen = pixels(out.getvalue())
    assert seen is not None and seen.shape == (32, 32, 3)
    assert np.abs(seen.mean(axis=(0, 1)) - (250, 0, 0)).max() < 6


def test_no_program_of_the_host_draws_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow has Ghostscript draw PostScript, in which a stranger can write programs."""
    from PIL import EpsImagePlugin

    ran = tmp_path / "ran"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {ran}\necho 10.0\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    assert pixels(POSTSCRIPT) is None
    assert not ran.exists()
