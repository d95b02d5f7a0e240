"""Adapters: a `Batch` in the forms that PettingZoo, Gymnasium and stable-baselines3 expect."""
