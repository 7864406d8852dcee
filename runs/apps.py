from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Connects the receivers, and registers the checks, when every model is there."""

    name = "runs"

    def ready(self) -> None:
        from runs import checks, receivers  # noqa: F401
