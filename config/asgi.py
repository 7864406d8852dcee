"""The one ASGI application: Django's pages and API, and the WebSockets of live pages."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from channels.sessions import CookieMiddleware
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")
# Before anything that imports models.
http = get_asgi_application()

from config.api.bodies import limited  # noqa: E402
from config.ending import ending  # noqa: E402
from config.health.probes import probed  # noqa: E402
from runs.live.routing import websocket_urlpatterns  # noqa: E402

# A browser sends the cookies of this host along with any page's WebSocket: the origin is looked at here (is it a host
# of ours?) and once more in the consumer (is it this very site, port included?).
application = ending(
    ProtocolTypeRouter(
        {
            "http": probed(limited(http)),
            "websocket": AllowedHostsOriginValidator(CookieMiddleware(URLRouter(websocket_urlpatterns))),
        }
    )
)
