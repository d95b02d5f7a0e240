"""What surrounds the algorithm: ranks, logs, checkpoints, preflight, inspection."""
