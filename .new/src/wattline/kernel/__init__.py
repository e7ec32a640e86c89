"""How Python becomes machine code: records behind one pointer, kernels, the cache on disk, and a faster numba."""
