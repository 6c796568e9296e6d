"""Layers from environment variables."""

from collections.abc import Mapping

from hoist.layers import Layer
from hoist.settings import DEFAULTS, from_text

PREFIX = "HOIST_"


def variable_layers(variables: Mapping[str, str]) -> list[Layer]:
    """Return the layers of the variables that are set.

    Raises:
        SettingsError: A value is wrong.
    """
    layers = []
    for key in DEFAULTS:
        name = PREFIX + key.upper()
        if variables.get(name):
            layers.append(Layer(name, {key: from_text(key, variables[name])}))
    return layers
