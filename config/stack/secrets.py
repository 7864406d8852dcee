"""Everything that is generated once and must stay private. Files of mode 0600 in folders of mode 0700."""

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from config.stack.process import kept_secret, write_private

ROLES = ("reviewer", "operator", "admin", "auditor")


@dataclass(frozen=True, slots=True)
class Secrets:
    """Where the secrets lie. `folder` is var/secrets."""

    folder: Path

    @property
    def django_key(self) -> Path:
        return self.folder / "django.key"

    @property
    def credential_key(self) -> Path:
        """Fernet key that encrypts the credentials of targets in the database."""
        return self.folder / "credentials.key"

    @property
    def token_keys(self) -> Path:
        """Folder of Ed25519 private keys, <kid>.pem; the lexically last one signs."""
        return self.folder / "keys"

    @property
    def demo(self) -> Path:
        """Folder of what the demo data needs: <role>.password and payments.key; it adds agent.secret and demo.json."""
        return self.folder / "demo"

    def password(self, role: str) -> str:
        """The generated password of the demo person with that role."""
        return kept_secret(self.demo / f"{role}.password")

    def payments_key(self) -> str:
        """What the payment server takes as a key; it must begin with sk_."""
        path = self.demo / "payments.key"
        if not path.exists():
            write_private(path, f"sk_test_{secrets.token_hex(16)}\n")
        return path.read_text().strip()


def ensure_secrets(folder: Path) -> Secrets:
    """Generates what is missing in `folder` and closes what others could read; never replaces anything."""
    found = Secrets(folder)
    for private in (folder, found.token_keys, found.demo):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        private.chmod(0o700)
    kept_secret(found.django_key)
    if not found.credential_key.exists():
        write_private(found.credential_key, Fernet.generate_key() + b"\n")
    if not list(found.token_keys.glob("*.pem")):
        key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        # Begins with the day: a key added later is lexically last and signs from then on.
        write_private(found.token_keys / f"{time.strftime('%Y%m%d')}-{secrets.token_hex(4)}.pem", key)
    for role in ROLES:
        found.password(role)
    found.payments_key()
    for file in folder.rglob("*"):
        if file.is_file():
            file.chmod(0o600)
    return found
