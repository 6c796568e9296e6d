"""The Docker daemon: the few calls that sandboxes need, through the Docker SDK for Python.

Every call blocks, at most for the reply timeout, and is made from a worker thread. A failure
raises a SandboxError that names the action. `docker inspect` gives the paths of layers.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import RawIOBase
from typing import IO, Any

from agentgym.errors import SandboxError, UnsupportedError
from agentgym.installation import install_line, missing_extra
from agentgym.records import Limits, Problem
from agentgym.sandbox.docker.watch import DaemonWatch
from agentgym.sandbox.launch import CAPABILITIES, FIRST_PROCESS, memory_file_systems
from agentgym.sandbox.runtime import ENVIRONMENT

OWNER = "agentgym.owner"
_REPLY_S = 60.0
# The daemon's own list plus files for root alone: a guest without a user namespace is root.
_MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys"),
    *("/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list"),
    *("/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware"),
    *("/proc/iomem", "/proc/ioports", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags"),
    *("/proc/pagetypeinfo", "/proc/slabinfo", "/proc/vmallocinfo"),
)
_LOG = {"max-size": "1m", "max-file": "1"}
_SDK = "the Docker SDK for Python"


@dataclass(frozen=True, slots=True)
class Image:
    """An image and the paths of its layers.

    Attributes:
        id: Content address.
        folders: Layer directories on the host, topmost first.
        diff_ids: Digests of the same layers, lowest first, as in the image format.
        labels: The labels set when it was made.
    """

    id: str
    folders: tuple[str, ...]
    diff_ids: tuple[str, ...]
    labels: Mapping[str, str]


class Engine:
    """A connection to the daemon that the environment names (DOCKER_HOST). Thread-safe."""

    def __init__(self) -> None:
        try:
            import docker
        except ImportError:
            raise missing_extra(_SDK, "docker") from None
        settings = docker.utils.kwargs_from_env()
        _knock(settings.get("base_url", "unix:///var/run/docker.sock"))
        with _reported("be reached"):
            self._api = docker.APIClient(version="auto", timeout=_REPLY_S, **settings)

    def watch(self, label: str) -> DaemonWatch:
        """Follow the ends of containers with a label that their guests did not cause."""
        filters = {"type": "container", "event": "kill", "label": label}
        with _reported("tell its events"):
            return DaemonWatch(self._api.events(filters=filters, decode=True))

    def close(self) -> None:
        """Close the connection."""
        self._api.close()

    def problems(self) -> list[Problem]:
        """Return what prevents this process from reading the daemon's layers."""
        with _reported("describe itself"):
            info = self._api.info()
        found = []
        if info["Driver"] != "overlay2":
            fix = 'set {"storage-driver": "overlay2"} in /etc/docker/daemon.json'
            found.append(Problem(f"Docker stores layers with {info['Driver']}", fix))
        elif ["Native Overlay Diff", "true"] not in info["DriverStatus"]:
            fix = "echo N > /sys/module/overlay/parameters/redirect_dir; restart dockerd"
            found.append(Problem("Docker's layers hold redirected directories", fix))
        return found

    def folder(self) -> str:
        """Return the daemon's data folder on the host."""
        with _reported("describe itself"):
            return str(self._api.info()["DockerRootDir"])

    # --- images ---

    def load(self, archive: IO[bytes] | RawIOBase) -> None:
        """Load an image archive (`docker save` format)."""
        with _reported("load a layer"):
            for message in self._api.load_image(archive):
                if "error" in message:
                    raise SandboxError(f"Docker cannot load a layer: {message['error']}")

    def find(self, reference: str) -> Image | None:
        """Return the image of a name or id, or None if the daemon lacks it."""
        from docker.errors import NotFound

        with _reported(f"inspect {reference}"):
            try:
                seen = self._api.inspect_image(reference)
            except NotFound:
                return None
        return Image(
            seen["Id"],
            _folders(seen),
            tuple(seen["RootFS"]["Layers"]),
            seen["Config"].get("Labels") or {},
        )

    def image(self, reference: str) -> Image:
        """Return the image of a name or id.

        Raises:
            SandboxError: The daemon has no such image.
        """
        found = self.find(reference)
        if found is None:
            raise SandboxError(f"Docker has no image {reference}; was it pruned?")
        return found

    def tag(self, image: str, name: str) -> None:
        """Give an image a name."""
        repository, _, tag = name.partition(":")
        with _reported(f"tag {name}"):
            self._api.tag(image, repository, tag)

    def remove_image(self, reference: str) -> None:
        """Remove an image, or one of its names; do nothing if it is absent."""
        from docker.errors import NotFound

        with _reported(f"remove {reference}"), contextlib.suppress(NotFound):
            self._api.remove_image(reference)

    def owners(self, label: str) -> dict[str, Mapping[str, str]]:
        """Return the host processes that made containers or unnamed images with a label.

        Returns:
            The labels of one object of each owner, by owner; an owner may have ended.
        """
        with _reported("list the containers and images"):
            found = self._api.containers(all=True, filters={"label": label})
            found += self._api.images(filters={"label": label, "dangling": True})
        return {one["Labels"].get(OWNER, ""): one["Labels"] for one in found}

    def remove_all_of(self, owner: str) -> None:
        """Remove the containers and the unnamed images of one host process."""
        label = f"{OWNER}={owner}"
        with _reported(f"list what {owner} left"):
            containers = self._api.containers(all=True, quiet=True, filters={"label": label})
            images = self._api.images(quiet=True, filters={"label": label, "dangling": True})
        for container in containers:
            self.remove(container["Id"])
        for image in images:
            self.remove_image(image)

    def labelled(self, label: str) -> list[tuple[list[str], str]]:
        """Return the names of every image that has a label, and the label's value."""
        with _reported("list the images"):
            found = self._api.images(filters={"label": label})
        return [(image["RepoTags"] or [], image["Labels"][label]) for image in found]

    # --- containers ---

    def create(
        self,
        image: str,
        command: Sequence[str],
        *,
        labels: Mapping[str, str],
        hostname: str,
        binds: Sequence[str],
        limits: Limits,
    ) -> tuple[str, str]:
        """Make a container without a network and return its id and its upper directory."""
        api = self._api
        memory = limits.memory_mb * 2**20 if limits.memory_mb is not None else None
        rlimits = {"core": 0}
        if limits.disk_mb is not None:
            rlimits["fsize"] = limits.disk_mb * 2**20
        run_bytes, shm_bytes = memory_file_systems(limits)
        with _reported("make a container"):
            host = api.create_host_config(
                binds=list(binds),
                tmpfs={
                    "/run": f"exec,mode=755,size={run_bytes}",
                    "/run/lock": "mode=1777,size=1m",
                },
                shm_size=shm_bytes,
                network_mode="none",
                # The host keeps the output; the supervisor prints a few lines.
                log_config={"Type": "json-file", "Config": _LOG},
                cap_drop=["ALL"],
                cap_add=[name.removeprefix("CAP_") for name in CAPABILITIES],
                security_opt=["no-new-privileges"],
                pids_limit=limits.pids,
                mem_limit=memory,
                # Equal to the memory limit, which means no swap.
                memswap_limit=memory,
                nano_cpus=int(limits.cpus * 1e9) if limits.cpus is not None else None,
                ulimits=[
                    {"Name": name, "Soft": value, "Hard": value} for name, value in rlimits.items()
                ],
            )
            host["MaskedPaths"] = [*_MASKED, *FIRST_PROCESS]
            made = api.create_container(
                image,
                list(command),
                hostname=hostname,
                host_config=host,
                # Avoids the daemon's mounts over /etc/hosts and /etc/resolv.conf and halves the
                # time to start. The kernel still provides the loopback.
                network_disabled=True,
                environment=ENVIRONMENT,
                labels=dict(labels),
            )["Id"]
            upper, *_ = _folders(api.inspect_container(made))
        return made, upper

    def start(self, container: str) -> None:
        """Start a container."""
        with _reported("start a container"):
            self._api.start(container)

    def is_running(self, container: str) -> bool:
        """Return whether a container is running."""
        with _reported("inspect a container"):
            return bool(self._api.inspect_container(container)["State"]["Running"])

    def was_killed_for_memory(self, container: str) -> bool:
        """Return whether the kernel killed a process of an ended container for its memory."""
        with _reported("inspect a container"):
            return bool(self._api.inspect_container(container)["State"]["OOMKilled"])

    def complaint(self, container: str) -> str:
        """Return the output of a container."""
        with _reported("read a container's log"):
            log: bytes = self._api.logs(container, tail=20)
        return log.decode("utf-8", "replace").strip()

    def end(self, container: str) -> None:
        """Kill a container's processes and wait for their end; its files stay."""
        from docker.errors import APIError

        with _reported("end a container"):
            # The container may have ended by itself or be removed.
            with contextlib.suppress(APIError):
                self._api.kill(container)
            with contextlib.suppress(APIError):
                self._api.wait(container, timeout=_REPLY_S)

    def remove(self, container: str) -> None:
        """End a container and remove its files; do nothing if it is absent."""
        from docker.errors import APIError, NotFound

        with _reported("remove a container"), contextlib.suppress(NotFound):
            try:
                self._api.remove_container(container, force=True, v=True)
            except APIError as error:
                # Another process has removed it in the meantime.
                if error.status_code != 409 or "already in progress" not in str(error):
                    raise
                self._api.wait(container, timeout=_REPLY_S, condition="removed")


def sdk_problems() -> list[Problem]:
    """Return a problem if the Docker SDK for Python is missing."""
    try:
        import docker  # noqa: F401
    except ImportError:
        return [Problem(f"{_SDK} is not installed", install_line("docker"))]
    return []


def _knock(address: str) -> None:
    """Try the daemon's socket, because the SDK hides the reason of a failure and leaks a socket."""
    path = address.removeprefix("unix://")
    if path == address:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            raise SandboxError(f"no Docker daemon answers at {path}: {error.strerror}") from None


def _folders(seen: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the layer directories of an inspected image or container, topmost first."""
    driver = seen.get("GraphDriver") or {"Name": "an image store of its own"}
    if driver["Name"] != "overlay2":
        raise UnsupportedError(
            f"Docker stores layers with {driver['Name']}; agentgym reads those of overlay2"
        )
    lower = driver["Data"].get("LowerDir")
    return (driver["Data"]["UpperDir"], *(lower.split(":") if lower else ()))


@contextlib.contextmanager
def _reported(action: str) -> Iterator[None]:
    """Turn every error of the SDK into a SandboxError."""
    from docker.errors import DockerException
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (DockerException, RequestException, HTTPError) as error:
        raise SandboxError(f"Docker cannot {action}: {error}; see: agentgym doctor") from error
