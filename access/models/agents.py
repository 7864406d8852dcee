"""Agents: programs that ask. They never decide."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from access.models.people import Membership, Tenant


class Agent(models.Model):
    """A registered program with a client id and a secret of which only the hash is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(max_length=200)
    version = models.CharField(max_length=64, default="1")
    client_id = models.CharField(max_length=64, unique=True)
    secret_hash = models.CharField(max_length=256)
    scopes = ArrayField(models.CharField(max_length=100), default=list)
    owner = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="owned_agents")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint("tenant", "name", name="access_agent_name_once")]


class AgentPrincipal(models.Model):
    """A person for whom an agent may act."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="principals")
    membership = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="agents_acting")

    class Meta:
        constraints = [models.UniqueConstraint("agent", "membership", name="access_agent_principal_once")]
