from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"

    def ready(self) -> None:
        from approvals import checks, receivers  # noqa: F401 - registers the system checks and connects the receivers
