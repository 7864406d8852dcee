"""The API's description, `/api/v1/schema/`: OpenAPI 3, made from the views themselves."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularAPIView

from audit.api.base import JsonAlways


class SchemaView(SpectacularAPIView):
    """Open to everybody: it says what the API is, nothing of what is in it."""

    renderer_classes = [OpenApiJsonRenderer]
    content_negotiation_class = JsonAlways
    authentication_classes = ()
    permission_classes = ()


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How an agent shows who it is."""

    target_class = "config.api.authentication.TokenAuthentication"
    name = "agent"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """OpenAPI's form."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "An access token of an agent from /api/v1/token; ten minutes of life.",
        }


class PersonScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How a person at a browser shows who they are."""

    target_class = "config.api.authentication.PersonAuthentication"
    name = "person"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """OpenAPI's form."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of a signed-in browser. Changes need the header X-CSRFToken beside it.",
        }
