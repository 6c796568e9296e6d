"""Installs the task format of docs/formats.md, as `pip install` would."""

import configparser
import json
import re
import tomllib
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/formats.md").read_text()
FILES = {
    name: text
    for text, name in re.findall(r"^```(?:python|toml)\n(# (\S+)\n.*?)^```", PAGE, re.M | re.S)
}
COMMANDS = re.search(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)[1].splitlines()
PUZZLE = json.loads(re.search(r"^```json\n(.*?)^```", PAGE, re.M | re.S)[1])


def install(root):
    """Write the files of the page and the metadata of its project below `root`, of `sys.path`."""
    for name, text in FILES.items():
        (root / name).write_text(text)
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    points = project["entry-points"]["agentgym.task_formats"]
    metadata = root / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    entries = configparser.ConfigParser()
    entries.read_dict({"agentgym.task_formats": points})
    with open(metadata / "entry_points.txt", "w") as file:
        entries.write(file)


def write_puzzle(folder, **changed):
    """Write a task folder of that format and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "puzzle.json").write_text(json.dumps(PUZZLE | changed))
    return folder
