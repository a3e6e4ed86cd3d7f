"""Kernels of retrieval on lattices: products of bytes with numbers modulo 2**32, in one pass over the database."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.jit import kernel

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint32]

WIDTH = 8192
"""Bytes of a column that are worked on together, so that their sums stay near the processor."""


@kernel("void(uint8[:,::1], uint32[:,::1], uint32[:,::1])")
def weighted_columns(columns: Bytes, weights: Numbers, found: Numbers) -> None:
    """Sums of columns (which lie as rows) with weights, for several sets of weights, eight columns a step."""
    whole, height = columns.shape[0] // 8 * 8, columns.shape[1]
    for start in range(0, height, WIDTH):
        end = min(start + WIDTH, height)
        for i in range(0, whole, 8):
            a, b, c = columns[i, start:end], columns[i + 1, start:end], columns[i + 2, start:end]
            d, e, f = columns[i + 3, start:end], columns[i + 4, start:end], columns[i + 5, start:end]
            g, h = columns[i + 6, start:end], columns[i + 7, start:end]
            for k in range(weights.shape[0]):
                total = found[k, start:end]
                p, q, r, s = weights[k, i], weights[k, i + 1], weights[k, i + 2], weights[k, i + 3]
                t, u, v, w = weights[k, i + 4], weights[k, i + 5], weights[k, i + 6], weights[k, i + 7]
                for j in range(total.size):
                    low = np.uint32(a[j]) * p + np.uint32(b[j]) * q + np.uint32(c[j]) * r + np.uint32(d[j]) * s
                    high = np.uint32(e[j]) * t + np.uint32(f[j]) * u + np.uint32(g[j]) * v + np.uint32(h[j]) * w
                    total[j] += low + high
    for i in range(whole, columns.shape[0]):
        for k in range(weights.shape[0]):
            one, total = weights[k, i], found[k]
            for j in range(height):
                total[j] += np.uint32(columns[i, j]) * one


@kernel("void(uint32[:,::1], uint32[::1], uint32[::1])")
def times_vector(matrix: Numbers, vector: Numbers, found: Numbers) -> None:
    """A matrix times a vector, modulo 2**32."""
    for i in range(matrix.shape[0]):
        row, total = matrix[i], np.uint32(0)
        for j in range(row.size):
            total += row[j] * vector[j]
        found[i] = total
