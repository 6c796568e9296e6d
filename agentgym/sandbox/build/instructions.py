"""Dockerfile instructions: each becomes a step of a plan, or is refused by name.

Supported: FROM (once), RUN, COPY, ADD of local files, ENV, WORKDIR, USER, ARG, SHELL. EXPOSE, CMD,
ENTRYPOINT and LABEL are kept in the image's configuration but start nothing. HEALTHCHECK is
ignored, because a recipe's services have health checks of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from agentgym.errors import NotFoundError, SandboxError, close_matches
from agentgym.manifest import read_text, show_path
from agentgym.sandbox.build.context import Context
from agentgym.sandbox.build.dockerfile import (
    MOST_INSTRUCTIONS,
    DockerfileError,
    Instruction,
    expand,
    parse,
    words,
)
from agentgym.sandbox.build.plan import Action, Configure, Plan, Pull, Run, Scratch
from agentgym.sandbox.images import ARCHITECTURE

# Arguments that `docker build` predefines.
_PREDEFINED = {
    "TARGETARCH": ARCHITECTURE,
    "TARGETOS": "linux",
    "TARGETPLATFORM": f"linux/{ARCHITECTURE}",
    "BUILDARCH": ARCHITECTURE,
    "BUILDOS": "linux",
    "BUILDPLATFORM": f"linux/{ARCHITECTURE}",
}
_PLATFORM = f"linux/{ARCHITECTURE}"
FindPlan = Callable[[str], "Plan | None"]
"""Returns the plan of a recipe by name, None for the host's own root. Raises NotFoundError.

An unknown name means an image of a registry."""
_PACKED = re.compile(r"\.(tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst))$")


def plan_dockerfile(folder: Path, name: str, find_plan: FindPlan) -> Plan:
    """Return the plan of a Dockerfile in a recipe's folder.

    Raises:
        SandboxError: It is invalid or uses an unsupported feature; names file and line.
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise SandboxError(f"{show_path(path)} leaves the recipe's folder")
    text = read_text(path, SandboxError)
    ignore = folder / ".dockerignore"
    ignored = read_text(ignore, SandboxError) if ignore.is_file() else ""
    line = 1
    try:
        context = Context(folder, ignored)
        reader = _Reader(show_path(path), context, find_plan)
        for instruction in parse(text):
            line = instruction.line
            reader.read(instruction)
        if not reader.plan.steps:
            raise ValueError("expected FROM, got no instruction that begins an image")
    except DockerfileError as error:
        raise SandboxError(f"{show_path(path)}:{error.line}: {error}") from error
    except (ValueError, OSError) as error:
        raise SandboxError(f"{show_path(path)}:{line}: {error}") from error
    return reader.plan


class _Reader:
    """Reads instructions in order; `plan` is the plan so far."""

    def __init__(self, shown: str, context: Context, find_plan: FindPlan) -> None:
        self.plan = Plan(())
        self._shown, self._context, self._find_plan = shown, context, find_plan
        # ARG before FROM applies to FROM alone; after FROM, to the following instructions.
        self._global: dict[str, str] = {}
        self._args: dict[str, str] = {}
        self._env: dict[str, str] = {}

    def read(self, instruction: Instruction) -> None:
        """Add the steps of one instruction. Raises ValueError if it is not supported."""
        read = _READERS.get(instruction.name)
        if read is None:
            near = close_matches(instruction.name, _READERS, limit=1)
            hint = f"did you mean {near[0]}?" if near else f"supported are {', '.join(_READERS)}"
            raise ValueError(f"{instruction.name} is not supported; {hint}")
        if not self.plan.steps and instruction.name not in ("FROM", "ARG"):
            raise ValueError(f"expected FROM first, got {instruction.name}")
        if not instruction.rest:
            raise ValueError(f"{instruction.name} says nothing")
        read(self, instruction)

    def _then(self, instruction: Instruction, action: Action) -> None:
        flags = "".join(f"--{name}={value} " for name, value in instruction.flags.items())
        title = f"{instruction.name} {flags}{instruction.rest}"
        self.plan = self.plan.then(action, title, f"{self._shown}:{instruction.line}")

    @property
    def _known(self) -> dict[str, str]:
        """The variables known before the base image is on this machine."""
        return {**_PREDEFINED, **self._args, **self._env}

    @property
    def _outer(self) -> dict[str, str]:
        """The variables outside the stage, which an ARG without a value imports."""
        return {**_PREDEFINED, **self._global}

    def _build_args(self) -> dict[str, str]:
        return {name: value for name, value in self._args.items() if name not in self._env}

    def _from(self, instruction: Instruction) -> None:
        if self.plan.steps:
            raise ValueError(
                "a second FROM (a build in several stages) is not supported; build the first stage "
                "as a recipe of its own and begin with that"
            )
        _only_flags(instruction, "platform")
        variables = self._outer
        platform = expand(instruction.flags.get("platform", _PLATFORM), variables)
        if platform != _PLATFORM:
            raise ValueError(f"platform {platform} is not supported; this machine is {_PLATFORM}")
        base, *name = (expand(word, variables) for word in words(instruction.rest))
        if name and (len(name) != 2 or name[0].upper() != "AS"):
            raise ValueError(f"expected FROM image [AS name], got FROM {instruction.rest}")
        if base == "scratch":
            self._then(instruction, Scratch())
            return
        try:
            known = self._find_plan(base)
        except NotFoundError as error:
            if error.name != base:
                raise
            self._then(instruction, Pull(base))
            return
        if known is None:
            raise ValueError(f"recipe {base!r} is the host's own programs and has no image")
        self.plan = known

    def _arg(self, instruction: Instruction) -> None:
        for word in words(instruction.rest):
            name, given, default = word.partition("=")
            value = expand(default, self._known) if given else self._outer.get(name, "")
            if self.plan.steps:
                self._args[name] = value
            else:
                self._global[name] = expand(default, self._outer) if given else value

    def _run(self, instruction: Instruction) -> None:
        for name, value in instruction.flags.items():
            # A cache mount becomes part of the layer here, which does no harm.
            if not (name == "mount" and "type=cache" in value.split(",")):
                raise ValueError(f"RUN --{name}={value} is not supported; leave it out")
        env = self._build_args()
        argv = instruction.exec_form
        if argv is not None:
            self._then(instruction, Run(argv=argv, env=env))
            return
        script = instruction.rest
        if instruction.heredocs:
            alone = re.fullmatch(r"""<<-?["']?\w+["']?""", script)
            bodies = (f"{each.text}{each.name}\n" for each in instruction.heredocs)
            # A heredoc that stands alone is the script; the shell reads any other one.
            script = instruction.heredocs[0].text if alone else f"{script}\n{''.join(bodies)}"
        self._then(instruction, Run(script=script, env=env))

    def _copy(self, instruction: Instruction) -> None:
        if "from" in instruction.flags:
            raise ValueError("COPY --from (another stage or image) is not supported")
        _only_flags(instruction, "chown", "chmod", "link")
        if instruction.heredocs:
            raise ValueError(f"{instruction.name} <<… is not supported; use RUN cat <<… > FILE")
        *sources, target = instruction.exec_form or words(instruction.rest)
        if instruction.exec_form:
            target = f"'{target}'"
        named = [expand(source, self._known) for source in sources]
        if not named:
            raise ValueError(f"expected {instruction.name} source target")
        for source in named if instruction.name == "ADD" else ():
            if "://" in source or source.startswith("git@"):
                raise ValueError(f"ADD of an address is not supported; use RUN curl: {source}")
            if _PACKED.search(source):
                raise ValueError(f"ADD would unpack {source}; use COPY, and RUN tar -xf")
        mode = expand(instruction.flags.get("chmod", ""), self._known)
        if mode and not re.fullmatch("[0-7]{3,4}", mode):
            raise ValueError(f"expected a mode such as 0755 in --chmod, got {mode!r}")
        owner = instruction.flags.get("chown", "")
        args = self._build_args()
        action = self._context.copy(
            named, target, owner=owner, mode=int(mode, 8) if mode else None, args=args
        )
        self._then(instruction, action)

    def _set_env(self, instruction: Instruction) -> None:
        first, *more = words(instruction.rest)
        if "=" in first:
            pairs = [(name, value) for name, _, value in (w.partition("=") for w in (first, *more))]
        else:
            pairs = [(first, instruction.rest[len(first) :].strip())]
        for name, _ in pairs:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"expected ENV name=value, got {name!r}")
        known = self._known
        self._env |= {name: expand(value, known) for name, value in pairs}
        if len(self._env) > MOST_INSTRUCTIONS:
            raise ValueError(f"more than {MOST_INSTRUCTIONS} variables")
        self._then(instruction, Configure(env=tuple(pairs), args=self._build_args()))

    def _workdir(self, instruction: Instruction) -> None:
        self._then(instruction, Configure(workdir=instruction.rest, args=self._build_args()))

    def _user(self, instruction: Instruction) -> None:
        self._then(instruction, Configure(user=instruction.rest, args=self._build_args()))

    def _shell(self, instruction: Instruction) -> None:
        if not instruction.exec_form:
            raise ValueError('expected SHELL ["/bin/bash", "-c"]')
        self._then(instruction, Configure(shell=instruction.exec_form))

    def _expose(self, instruction: Instruction) -> None:
        ports = [expand(word, self._known) for word in words(instruction.rest)]
        named: dict[str, object] = {port if "/" in port else f"{port}/tcp": {} for port in ports}
        if bad := [port for port in named if not re.fullmatch(r"\d+(-\d+)?/(tcp|udp)", port)]:
            raise ValueError(f"expected ports such as 8080 or 53/udp, got {bad[0]!r}")
        self._then(instruction, Configure(other={"ExposedPorts": named}))

    def _label(self, instruction: Instruction) -> None:
        pairs = (word.partition("=") for word in words(instruction.rest))
        labels = {expand(name, self._known): expand(value, self._known) for name, _, value in pairs}
        self._then(instruction, Configure(other={"Labels": labels}))

    def _command(self, instruction: Instruction) -> None:
        name = {"CMD": "Cmd", "ENTRYPOINT": "Entrypoint"}[instruction.name]
        argv = list(instruction.exec_form or ("/bin/sh", "-c", instruction.rest))
        self._then(instruction, Configure(other={name: argv}))

    def _nothing(self, instruction: Instruction) -> None:
        """Ignore an instruction on purpose."""


def _only_flags(instruction: Instruction, *known: str) -> None:
    for name in instruction.flags:
        if name not in known:
            shown = ", ".join(f"--{flag}" for flag in known)
            raise ValueError(f"{instruction.name} --{name} is not supported; known: {shown}")


_READERS: Mapping[str, Callable[[_Reader, Instruction], None]] = {
    "FROM": _Reader._from,
    "ARG": _Reader._arg,
    "RUN": _Reader._run,
    "COPY": _Reader._copy,
    "ADD": _Reader._copy,
    "ENV": _Reader._set_env,
    "WORKDIR": _Reader._workdir,
    "USER": _Reader._user,
    "SHELL": _Reader._shell,
    "EXPOSE": _Reader._expose,
    "LABEL": _Reader._label,
    "CMD": _Reader._command,
    "ENTRYPOINT": _Reader._command,
    "HEALTHCHECK": _Reader._nothing,
    "MAINTAINER": _Reader._nothing,
    "STOPSIGNAL": _Reader._nothing,
    "VOLUME": _Reader._nothing,
}
