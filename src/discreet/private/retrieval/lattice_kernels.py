"""Kernels of retrieval on lattices: products of bytes with numbers modulo 2**32, in one pass over the database."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.jit import kernel

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint32]
Word = np.uint32

WIDTH = 8192
WIDTH_FOUR = 32_768
"""Bytes of a column that are worked on together, so that their sums stay near the processor."""


@kernel("void(uint8[:,::1], uint32[::1], uint32[::1])")
def weighted_one(columns: Bytes, weights: Numbers, found: Numbers) -> None:
    """The sum of columns (which lie as rows) with weights, modulo 2**32, eight columns a step."""
    whole, height = columns.shape[0] // 8 * 8, columns.shape[1]
    for start in range(0, height, WIDTH):
        end = min(start + WIDTH, height)
        total = found[start:end]
        for i in range(0, whole, 8):
            a, b, c = columns[i, start:end], columns[i + 1, start:end], columns[i + 2, start:end]
            d, e, f = columns[i + 3, start:end], columns[i + 4, start:end], columns[i + 5, start:end]
            g, h = columns[i + 6, start:end], columns[i + 7, start:end]
            p, q, r, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            t, u, v, w = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
            for j in range(total.size):
                low = np.uint32(a[j]) * p + np.uint32(b[j]) * q + np.uint32(c[j]) * r + np.uint32(d[j]) * s
                high = np.uint32(e[j]) * t + np.uint32(f[j]) * u + np.uint32(g[j]) * v + np.uint32(h[j]) * w
                total[j] += low + high
    for i in range(whole, columns.shape[0]):
        row, one = columns[i], weights[i]
        for j in range(height):
            found[j] += np.uint32(row[j]) * one


@kernel("uint32(uint32, uint32, uint32, uint32, uint32, uint32, uint32, uint32)")
def sum_of_four(a: Word, b: Word, c: Word, d: Word, p: Word, q: Word, r: Word, s: Word) -> Word:
    """Four products, added modulo 2**32; every step is cut to 32 bits, so that no wider product is computed."""
    low = np.uint32(np.uint32(a * p) + np.uint32(b * q))
    return np.uint32(low + np.uint32(np.uint32(c * r) + np.uint32(d * s)))


@kernel("void(uint8[:,::1], uint32[:,::1], uint32[:,::1])")
def weighted_four(columns: Bytes, weights: Numbers, found: Numbers) -> None:
    """The same for four sets of weights in one pass over the columns, four columns a step."""
    whole, height = columns.shape[0] // 4 * 4, columns.shape[1]
    for start in range(0, height, WIDTH_FOUR):
        end = min(start + WIDTH_FOUR, height)
        p, q, r, s = found[0, start:end], found[1, start:end], found[2, start:end], found[3, start:end]
        for i in range(0, whole, 4):
            a, b = columns[i, start:end], columns[i + 1, start:end]
            c, d = columns[i + 2, start:end], columns[i + 3, start:end]
            x0, x1, x2, x3 = weights[0, i], weights[0, i + 1], weights[0, i + 2], weights[0, i + 3]
            y0, y1, y2, y3 = weights[1, i], weights[1, i + 1], weights[1, i + 2], weights[1, i + 3]
            z0, z1, z2, z3 = weights[2, i], weights[2, i + 1], weights[2, i + 2], weights[2, i + 3]
            u0, u1, u2, u3 = weights[3, i], weights[3, i + 1], weights[3, i + 2], weights[3, i + 3]
            for j in range(p.size):
                k, m, n, o = np.uint32(a[j]), np.uint32(b[j]), np.uint32(c[j]), np.uint32(d[j])
                p[j] = np.uint32(p[j] + sum_of_four(k, m, n, o, x0, x1, x2, x3))
                q[j] = np.uint32(q[j] + sum_of_four(k, m, n, o, y0, y1, y2, y3))
                r[j] = np.uint32(r[j] + sum_of_four(k, m, n, o, z0, z1, z2, z3))
                s[j] = np.uint32(s[j] + sum_of_four(k, m, n, o, u0, u1, u2, u3))
    for i in range(whole, columns.shape[0]):
        row = columns[i]
        for number in range(4):
            one, total = weights[number, i], found[number]
            for j in range(height):
                total[j] += np.uint32(row[j]) * one


@kernel("void(uint32[:,::1], uint32[::1], uint32[::1])")
def times_vector(matrix: Numbers, vector: Numbers, found: Numbers) -> None:
    """A matrix times a vector, modulo 2**32."""
    for i in range(matrix.shape[0]):
        row, total = matrix[i], np.uint32(0)
        for j in range(row.size):
            total += row[j] * vector[j]
        found[i] = total
