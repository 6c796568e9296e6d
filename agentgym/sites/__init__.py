"""Web sites over the services of an episode: see docs/sites.md.

A site folder has a `site.toml` and either static pages or an `app.py`, which defines a `Site`.
"""

from agentgym.errors import ServiceError
from agentgym.sites.body import BadRequestError, Fields, Upload
from agentgym.sites.forms import BoundForm, Field, Form
from agentgym.sites.pictures import picture_file
from agentgym.sites.request import Request
from agentgym.sites.response import Response, download
from agentgym.sites.sign_in import FormPages, SignIn
from agentgym.sites.site import Site
from agentgym.sites.variation import Variation

__all__ = [
    "BadRequestError",
    "BoundForm",
    "Field",
    "Fields",
    "Form",
    "FormPages",
    "Request",
    "Response",
    "ServiceError",
    "SignIn",
    "Site",
    "Upload",
    "Variation",
    "download",
    "picture_file",
]
