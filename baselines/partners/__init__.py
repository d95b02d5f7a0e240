"""Frozen partners, which drive co-players: how they are drawn, read, and how they drive."""
