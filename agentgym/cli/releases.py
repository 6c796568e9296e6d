"""`agentgym task releases`: tasks made of two source releases of a package."""

from __future__ import annotations

from typing import Annotated

import typer


def releases(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Names of definitions. Default: all that are bundled."),
    ] = None,
) -> None:
    """Download pairs of source releases and write the suite swe-releases.

    The archives are pinned by their hashes and kept in the cache. Nothing of them is executed
    outside a sandbox.
    """
    from agentgym import catalogue
    from agentgym.cli.console import stdout_console
    from agentgym.errors import NotFoundError
    from agentgym.swe.releases.pair import bundled_pairs
    from agentgym.swe.releases.task_folder import SUITE, write_release_task

    pairs = bundled_pairs()
    for name in names or ():
        if name not in pairs:
            raise NotFoundError("release pair", name, pairs)
    chosen = {name: pairs[name] for name in names or pairs}
    folder = catalogue.imported_dir() / "tasks" / SUITE
    for name, pair in chosen.items():
        write_release_task(folder, name, pair)
    stdout_console().print(f"{len(chosen)} tasks: {folder}", markup=False, soft_wrap=True)
