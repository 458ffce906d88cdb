"""What depends on the machine: memory, matrix products, where caches lie."""
