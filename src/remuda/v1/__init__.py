"""The messages and services of `remuda.v1`, generated from proto/ by `make wire`. Knows nobody."""
