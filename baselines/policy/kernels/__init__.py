"""Attention in Triton: one step against the KV cache, and whole segments with their gradients."""
