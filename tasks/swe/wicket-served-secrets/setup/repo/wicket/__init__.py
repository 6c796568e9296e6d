"""A very small framework for JSON APIs."""

from wicket.app import App
from wicket.errors import HttpError
from wicket.request import Request
from wicket.response import Response
from wicket.routing import Router

__all__ = ["App", "HttpError", "Request", "Response", "Router"]
