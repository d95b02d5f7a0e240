"""How experience is collected: batches, device buffers, env groups, the rollout buffer."""
