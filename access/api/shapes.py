"""The bodies of the token routes."""

from rest_framework import serializers

from audit.api.base import Shape, Text

_LONGEST_SECRET = 512


class TokenRequest(Shape):
    """Either a client's secret or a refresh token, never both."""

    grant_type = serializers.ChoiceField(
        ["client_credentials", "refresh_token"],
        required=False,
        help_text="Follows from the other members; a contradiction is refused.",
    )
    client_id = Text(required=False, max_length=_LONGEST_SECRET)
    client_secret = Text(required=False, max_length=_LONGEST_SECRET)
    scopes = serializers.ListField(
        child=Text(max_length=100),
        required=False,
        max_length=100,
        help_text="What the session may do; all that the agent has when left out.",
    )
    on_behalf_of = Text(
        required=False, max_length=320, help_text="E-mail address or user id of the person the agent acts for."
    )
    refresh_token = Text(required=False, max_length=_LONGEST_SECRET)


class TokenAnswer(Shape):
    """A pair of tokens."""

    access_token = serializers.CharField(help_text="A JWT; send it as `Authorization: Bearer …`.")
    token_type = serializers.ChoiceField(["Bearer"])
    expires_in = serializers.IntegerField(help_text="Seconds.")
    refresh_token = serializers.CharField(help_text="For one use. A second use revokes the session.")
    scopes = serializers.ListField(child=serializers.CharField())
    session_id = serializers.UUIDField(help_text="Names the session, for revoking it.")


class RevokeRequest(Shape):
    """Which session ends; an agent that names none ends the one it is in."""

    session_id = Text(required=False, max_length=64)
    because = Text(required=False, allow_blank=True, max_length=200)


class RevokeAnswer(Shape):
    """What was done."""

    session_id = serializers.CharField()
    revoked = serializers.BooleanField(help_text="False if the session had ended already.")
