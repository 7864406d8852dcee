from tests.support.world_fixtures import payments, world

__all__ = ["payments", "world"]
