"""The web server: uvicorn on sockets that the launcher holds open.

    python -m config.stack.web DESCRIPTOR…

`localhost` is 127.0.0.1 for one browser and ::1 for the next, and uvicorn's own command listens on one address.
Because the launcher keeps the sockets, nobody can take the port between its check and our start, and a request that
comes while a dead web server is started again waits instead of being refused.
"""

import socket
import sys

import uvicorn

APPLICATION = "config.asgi:application"


def main(descriptors: list[int]) -> None:
    sockets = [socket.socket(fileno=number) for number in descriptors]
    config = uvicorn.Config(
        APPLICATION,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        # Long-polls and WebSockets end when the server does; nobody waits for them.
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=sockets)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
