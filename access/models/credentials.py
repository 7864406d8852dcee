"""What Clearance shows to backends. Write-only: no page, log, event or audit entry ever carries the secret (E5)."""

import uuid

from django.db import models

from access.models.people import Membership, Tenant


class BackendCredential(models.Model):
    """A named secret of a tenant, encrypted with the installation's credential key (Fernet)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="credentials")
    name = models.SlugField(max_length=63)
    ciphertext = models.BinaryField()
    created_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True)
    changed_by = models.ForeignKey(Membership, on_delete=models.PROTECT, null=True, related_name="+")
    """Who stored it last; null for our own process."""

    class Meta:
        constraints = [models.UniqueConstraint("tenant", "name", name="access_credential_name_once")]
