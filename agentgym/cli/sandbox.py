"""`agentgym sandbox`: builds recipes, lists them, opens shells in them, removes unused files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentgym.errors import AgentGymError, ConfigError

if TYPE_CHECKING:
    from agentgym.sandbox.build.plan import Plan
    from agentgym.sandbox.images import Image

app = typer.Typer(
    no_args_is_help=True,
    help="Build sandbox recipes, list them, try them out, remove unused ones.",
)
NETWORKS = ("none", "allowlist", "open")


@app.command(epilog="Example:  [bold]agentgym sandbox build debian python[/]")
def build(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Recipes.")],
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Run every step again, with today's packages.")
    ] = False,
) -> None:
    """Build the images of recipes; an image that exists already stays as it is."""
    from agentgym.sandbox.recipe import load_plan

    # All are read first, so that a mistake in the last one is found before the first is built.
    for name, plan in [(name, load_plan(name)) for name in dict.fromkeys(names)]:
        if plan is None:
            _tell(f"{name}: the host's own programs; there is nothing to build")
        else:
            image = build_image(plan, use_cache=not no_cache)
            _tell(f"{name}: {image.name[:12]}, {_megabytes(image.size_bytes)}")


def build_image(plan: Plan, *, use_cache: bool = True) -> Image:
    """Build a plan and show progress on standard error, with a clock on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    from agentgym.cli.console import stderr_console
    from agentgym.sandbox.build.builder import build

    console = stderr_console()
    columns = (SpinnerColumn(), TimeElapsedColumn())
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as clock:
        step = clock.add_task("")

        def tell(line: str) -> None:
            console.print(line, markup=False, soft_wrap=True)
            clock.reset(step)

        return build(plan, tell=tell, use_cache=use_cache)


def _tell(line: str) -> None:
    from agentgym.cli.console import stderr_console

    stderr_console().print(line, markup=False, soft_wrap=True)


@app.command("list", epilog="Example:  [bold]agentgym sandbox list[/]")
def list_recipes() -> None:
    """List recipes with their base, their size and age, and whether they are built."""
    from rich.table import Table

    from agentgym import catalogue
    from agentgym.cli.console import stdout_console

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for column in ("name", "base", "built", "size", "age", "title"):
        side: Literal["left", "right"] = "right" if column in ("size", "age") else "left"
        table.add_column(column, justify=side, no_wrap=True, overflow="ellipsis")
    for name in catalogue.folders("sandboxes"):
        table.add_row(*_row(name))
    stdout_console().print(table)


def _row(name: str) -> tuple[str, ...]:
    from agentgym import catalogue
    from agentgym.sandbox.build.manifest import BASES
    from agentgym.sandbox.build.planner import read_manifest
    from agentgym.sandbox.images import find_image
    from agentgym.sandbox.recipe import load_plan

    try:
        manifest = read_manifest(catalogue.find("sandboxes", name))
        plan = load_plan(name)
    except AgentGymError as error:
        return name, "broken", "", "", "", str(error).splitlines()[0]
    base = next(getattr(manifest, field) for field in BASES if getattr(manifest, field))
    shown = f"debootstrap {manifest.debootstrap.suite}" if manifest.debootstrap else str(base)
    if plan is None:
        return name, shown, "not needed", "", "", manifest.title
    image = find_image(plan.name)
    if image is None:
        return name, shown, "no", "", "", manifest.title
    age = _age(time.time() - image.built_s)
    return name, shown, image.name[:12], _megabytes(image.size_bytes), age, manifest.title


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


@app.command(epilog="Example:  [bold]agentgym sandbox shell python[/]")
def shell(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A recipe.")],
    sandbox: Annotated[
        str, typer.Option("--sandbox", help="Sandbox provider.", show_default=True)
    ] = "bubblewrap",
    network: Annotated[
        str | None,
        typer.Option("--network", help=f"{', '.join(NETWORKS)}. Default: the recipe's."),
    ] = None,
) -> None:
    """Open a shell in a fresh sandbox of a recipe, which is built first if necessary.

    Ctrl-C interrupts a command; Ctrl-D or `exit` ends the sandbox, and its files are discarded.
    Commands that do not come from a terminal are run as one script.
    """
    from dataclasses import replace

    from agentgym import plugins
    from agentgym.cli.prompt import converse
    from agentgym.errors import NotFoundError
    from agentgym.sandbox.recipe import load_plan, load_recipe

    if network is not None and network not in NETWORKS:
        raise NotFoundError("network policy", network, NETWORKS, f"known: {', '.join(NETWORKS)}")
    provider = plugins.make_provider(sandbox)
    if problems := plugins.problems_of(provider):
        listed = "; ".join(f"{problem.what} ({problem.fix})" for problem in problems)
        raise ConfigError(f"sandbox {sandbox}: {listed}")
    plan = load_plan(name)
    if plan is not None:
        build_image(plan)
    recipe = load_recipe(name)
    if network is not None:
        allow = recipe.allow if network == "allowlist" else ()
        recipe = replace(recipe, network=network, allow=allow)
    raise typer.Exit(converse(provider, recipe))


@app.command(epilog="Example:  [bold]agentgym sandbox prune --yes[/]")
def prune(
    everything: Annotated[
        bool, typer.Option("--all", help="Include what current tasks and recipes need.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove images and prepared setups that no current task or recipe needs.

    They can be recreated: by building, and by running a task's setup once more. Files that a
    running sandbox needs stay.
    """
    from agentgym.eval.prune import sort_setups, wanted_images
    from agentgym.sandbox import images
    from agentgym.sandbox.build.builder import remove_leftovers
    from agentgym.task.setup_cache import forget

    wanted, stale = sort_setups()
    recipes = wanted_images()
    if everything:
        wanted, stale, recipes = [], [*wanted, *stale], {}
    old = [image for image in images.all_images() if image.name not in recipes]
    _tell(f"{len(old)} images and {len(stale)} prepared setups that no task or recipe needs")
    if not yes and not typer.confirm("Remove them, and the files of killed processes?"):
        raise typer.Exit(1)
    for setup in stale:
        forget(setup)
    freed = _prune_providers({*recipes, *(setup.key for setup in wanted)})
    remove_leftovers(tell=_tell)
    freed += images.prune(recipes)
    _tell(f"freed {_megabytes(freed)}")


def _prune_providers(keep: set[str]) -> int:
    import asyncio

    from agentgym import plugins

    async def prune_one(name: str) -> int:
        provider = plugins.make_provider(name)
        # A provider may keep nothing beyond its process.
        if not hasattr(provider, "prune") or plugins.problems_of(provider):
            return 0
        try:
            freed: int = await provider.prune(keep)
            return freed
        finally:
            await provider.close()

    freed = 0
    for name in plugins.names("agentgym.sandboxes"):
        try:
            freed += asyncio.run(prune_one(name))
        except AgentGymError as error:
            _tell(f"{name}: {error}")
    return freed


@app.command(epilog="Example:  [bold]agentgym sandbox doctor[/]")
def doctor() -> None:
    """Report what this machine can build and what each provider can enforce, with the fixes."""
    from agentgym.cli.capabilities import findings
    from agentgym.cli.doctor import show

    show(findings())
