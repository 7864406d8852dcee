from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Holds the management commands and template tags that belong to no one app; has no models."""

    name = "config"
    verbose_name = "Clearance"

    def ready(self) -> None:
        # Makes Celery's application the current one in every process: hints are sent by name (runs/live/hints.py).
        from config import celery  # noqa: F401
