"""The forms of the office, by whom they are for."""

from __future__ import annotations

from .to_colleagues import TO_COLLEAGUES
from .to_outsiders import TO_OUTSIDERS
from .to_teams import TO_TEAMS

FORMS = (*TO_OUTSIDERS, *TO_COLLEAGUES, *TO_TEAMS)
