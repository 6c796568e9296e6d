"""Tasks as the library's own Python sees them: checked a little, then handed on."""

from types import SimpleNamespace


class Task(SimpleNamespace):
    @classmethod
    def model_validate(cls, raw):
        start = raw.get("initial_state")
        found = cls(**{**raw, "initial_state": start and InitialState.model_validate(start)})
        found.raw = raw
        return found

    def model_dump(self, mode):
        return self.raw


class InitialState(SimpleNamespace):
    @classmethod
    def model_validate(cls, raw):
        empty = dict.fromkeys(("initialization_data", "initialization_actions", "message_history"))
        return cls(**{**empty, **raw})


class EnvAssertion(SimpleNamespace):
    @classmethod
    def model_validate(cls, raw):
        return cls(**raw)
