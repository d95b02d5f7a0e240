"""What the policy computes: encoder, transformer, heads, KV cache and attention."""
