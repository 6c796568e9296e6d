"""Runs the examples for TRL where TRL is installed: `python trl_program.py FOLDER`."""

import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/train"), str(ROOT / "examples/bridges")]


def main(folder: Path) -> None:
    """Print for each example its last figures, and how many episodes have no score."""
    import small_models
    import trl

    tokenizer = small_models.make_tokenizer()
    # TRL reads the replies of templates that it knows.
    known = Path(trl.__file__).parent / "chat_templates/qwen2_5.jinja"
    tokenizer.chat_template = known.read_text()
    model = str(small_models.save(folder / "model", tokenizer=tokenizer))
    for name, tokens in (("trl_rollouts", 8), ("trl_environment", 16)):
        example = importlib.import_module(name)
        trainer, played = example.main(model, str(folder / name), steps=1, tokens=tokens)
        told = trainer.state.log_history[0]
        print(json.dumps({"example": name, "missing": played.missing, **told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
