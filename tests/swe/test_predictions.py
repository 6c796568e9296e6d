"""Files of predictions: the forms that are read, the input that is refused, and the report."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import ConfigError
from agentgym.record.result_files import ResultFiles
from agentgym.swe.apply import apply_diff
from agentgym.swe.patch import PatchError
from agentgym.swe.prediction_grading import (
    Fate,
    GradingPlan,
    Result,
    grade_predictions,
    report_of,
)
from agentgym.swe.predictions import Prediction, read_predictions, write_predictions

ONE = {"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "diff"}
TWO = {"instance_id": "a__b-2", "model_name_or_path": "m", "model_patch": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.jsonl", f"{json.dumps(ONE)}\n\n{json.dumps(TWO)}\n"),
        ("p.json", json.dumps([ONE, TWO])),
        (
            "p.json",
            json.dumps({"a__b-1": ONE, "a__b-2": {"model_patch": "", "model_name_or_path": "m"}}),
        ),
        ("p.txt", f"{json.dumps(ONE)}\n{json.dumps(TWO)}"),
    ],
)
def test_every_form_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_predictions(tmp_path / name) == (
        Prediction("a__b-1", "m", "diff"),
        Prediction("a__b-2", "m", ""),
    )


def test_a_file_or_folder_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"p\.jsonl: cannot be read: No such file or directory"):
        read_predictions(tmp_path / "p.jsonl")
    words = ["gold", "--instances", "i.jsonl", "--clones", str(tmp_path / "none"), "--out", "out"]
    done = CliRunner().invoke(app, ["grade-predictions", *words])
    assert done.exit_code != 0 and isinstance(done.exception, ConfigError)
    assert str(done.exception).startswith("--clones: no such folder")


def test_written_predictions_are_read_again(tmp_path: Path) -> None:
    made = (Prediction("a__b-1", "m", "ä\r\n"), Prediction("a__b-2", "m", ""))
    assert write_predictions(tmp_path / "p.jsonl", made) == 2
    assert read_predictions(tmp_path / "p.jsonl") == made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[1]", "entry 1: prediction: expected a JSON object"),
        (json.dumps([ONE, ONE]), "a second prediction for a__b-1"),
        (json.dumps([ONE | {"instance_id": "../x"}]), "instance_id"),
        (json.dumps([ONE | {"model_patch": ["diff"]}]), "model_patch: expected a text"),
        ("[]", "holds no prediction"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_bad_predictions_are_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_predictions(tmp_path / "p.json")


def test_a_file_of_millions_of_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("[" + "[]," * 2_100_000 + "[]]")
    with pytest.raises(ConfigError, match="more than 4000000 commas"):
        read_predictions(tmp_path / "p.json")


def test_a_patch_that_is_too_large_is_no_broken_file(tmp_path: Path) -> None:
    large = ONE | {"model_patch": "+" * 68_000_000}
    (tmp_path / "p.jsonl").write_text(f"{json.dumps(large)}\n{json.dumps(TWO)}\n")
    first, second = read_predictions(tmp_path / "p.jsonl")
    assert second.instance_id == "a__b-2"
    with pytest.raises(PatchError, match="a patch of 68000000 bytes; expected at most"):
        apply_diff(first.model_patch, {}.get)


def test_the_report_counts_every_fate(tmp_path: Path) -> None:
    fates = dict(zip("abcd", Fate, strict=True))
    plan = GradingPlan(
        predictions=[Prediction(name, "m", "") for name in fates],
        instances=dict.fromkeys("abcde"),  # type: ignore[arg-type]
        clones=tmp_path,
        out=tmp_path,
    )
    report = report_of(plan, [Result(name, fate, "") for name, fate in fates.items()])
    assert report["resolved_ids"] == ["a"] and report["unresolved_ids"] == ["b"]
    assert report["empty_patch_ids"] == ["c"] and report["error_ids"] == ["d"]
    assert report["completed_instances"] == 2 and report["incomplete_ids"] == ["e"]


def test_a_name_that_no_disk_has_is_a_fault_of_the_patch() -> None:
    name = "n" * 300
    text = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"

    def on_disk(path: str) -> None:
        raise OSError("File name too long")  # once a traceback, and the end of the grading

    with pytest.raises(PatchError, match="a name has at most 255 bytes"):
        apply_diff(text, on_disk)


async def test_a_result_that_cannot_be_written_is_told_by_itself(tmp_path, monkeypatch):
    def full(files, name, line):
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr(ResultFiles, "add", full)
    plan = GradingPlan(
        predictions=[Prediction("a__b-1", "m", "")],
        instances={"a__b-1": SimpleNamespace(id="a__b-1")},
        clones=tmp_path,
        out=tmp_path / "out",
    )
    with pytest.raises(OSError, match="No space left"):  # once a group of errors
        await grade_predictions(plan, None, print, print)
