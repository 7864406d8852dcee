"""MAY it happen? Tool contracts, policies, proposals, decisions, permits and resolutions."""
