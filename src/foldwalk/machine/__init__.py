"""What depends on the machine: compiling, memory, matrix products, where caches lie."""
