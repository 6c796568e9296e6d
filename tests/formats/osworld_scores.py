"""The score of a metric of OSWorld for files that are laid in folders."""

import importlib

from osworld_files import File

from agentgym.formats.osworld.metrics import registry


def laid(arguments, folder):
    """Lay the files of some arguments in folders and return the arguments with paths."""
    made = []
    for at, one in enumerate(arguments):
        if isinstance(one, File):
            one = one.lay(folder / str(at))
        elif isinstance(one, list) and any(isinstance(each, File) for each in one):
            one = [each and each.lay(folder / f"{at}-{n}") for n, each in enumerate(one)]
        elif callable(one):
            folder.mkdir(parents=True, exist_ok=True)
            one = one(folder)
        made.append(one)
    return made


def score(name, arguments, folder, **options):
    module = importlib.import_module(f"agentgym.formats.osworld.metrics.{registry.MODULES[name]}")
    return getattr(module, name)(*laid(arguments, folder), **options)
