"""Stateful services: typed state in SQLite, tools that read or change it, and one dispatcher.

This package exports what a service's author needs. The transports are `agentgym.services.http` and
`agentgym.services.mcp`, which need the extra `mcp`.
"""

from agentgym.errors import ServiceError
from agentgym.records import AuditEntry, Reply, RowChange
from agentgym.services.audit import Audit, read_audit
from agentgym.services.backend import Backend, ServiceSet
from agentgym.services.diff import diff
from agentgym.services.dispatch import dispatch
from agentgym.services.functions import reads, writes
from agentgym.services.image import Image, Images
from agentgym.services.load import find_services, load_services
from agentgym.services.recovery import recover
from agentgym.services.service import Service, moment, time_of
from agentgym.services.setup_context import SetupContext
from agentgym.services.state import Snapshot

__all__ = [
    "Audit",
    "AuditEntry",
    "Backend",
    "SetupContext",
    "Image",
    "Images",
    "Reply",
    "RowChange",
    "Service",
    "ServiceError",
    "ServiceSet",
    "Snapshot",
    "diff",
    "dispatch",
    "find_services",
    "load_services",
    "moment",
    "read_audit",
    "reads",
    "recover",
    "time_of",
    "writes",
]
