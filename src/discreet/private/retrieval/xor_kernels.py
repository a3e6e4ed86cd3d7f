"""Kernels of retrieval from two servers: every row is read for every question, and no step depends on the question."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.jit import kernel

Words = npt.NDArray[np.uint64]
Masks = npt.NDArray[np.uint8]

ONE = np.uint64(1)
NONE = np.uint64(0)


@kernel("uint64(uint64, int64)")
def keep(byte: np.uint64, place: int) -> np.uint64:
    """All ones where a bit is set, all zeros where it is not."""
    return NONE - ((byte >> np.uint64(place)) & ONE)


@kernel("void(uint64[:,::1], uint8[::1], uint64[::1])")
def xor_one(rows: Words, mask: Masks, found: Words) -> None:
    """Exclusive or of the rows whose bit is set in a mask, eight rows a step, without a branch."""
    whole = rows.shape[0] // 8 * 8
    for i in range(0, whole, 8):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        e, f, g, h = rows[i + 4], rows[i + 5], rows[i + 6], rows[i + 7]
        x = np.uint64(mask[i >> 3])
        x0, x1, x2, x3 = keep(x, 0), keep(x, 1), keep(x, 2), keep(x, 3)
        x4, x5, x6, x7 = keep(x, 4), keep(x, 5), keep(x, 6), keep(x, 7)
        for j in range(found.size):
            low = (a[j] & x0) ^ (b[j] & x1) ^ (c[j] & x2) ^ (d[j] & x3)
            found[j] ^= low ^ (e[j] & x4) ^ (f[j] & x5) ^ (g[j] & x6) ^ (h[j] & x7)
    for i in range(whole, rows.shape[0]):
        row, one = rows[i], keep(np.uint64(mask[i >> 3]), i & 7)
        for j in range(found.size):
            found[j] ^= row[j] & one


@kernel("void(uint64[:,::1], uint8[:,::1], uint64[:,::1])")
def xor_four(rows: Words, masks: Masks, found: Words) -> None:
    """The same for four masks in one pass over the rows."""
    p, q, r, s = found[0], found[1], found[2], found[3]
    whole = rows.shape[0] // 8 * 8
    for i in range(0, whole, 8):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        e, f, g, h = rows[i + 4], rows[i + 5], rows[i + 6], rows[i + 7]
        x, y = np.uint64(masks[0, i >> 3]), np.uint64(masks[1, i >> 3])
        z, u = np.uint64(masks[2, i >> 3]), np.uint64(masks[3, i >> 3])
        x0, x1, x2, x3 = keep(x, 0), keep(x, 1), keep(x, 2), keep(x, 3)
        x4, x5, x6, x7 = keep(x, 4), keep(x, 5), keep(x, 6), keep(x, 7)
        y0, y1, y2, y3 = keep(y, 0), keep(y, 1), keep(y, 2), keep(y, 3)
        y4, y5, y6, y7 = keep(y, 4), keep(y, 5), keep(y, 6), keep(y, 7)
        z0, z1, z2, z3 = keep(z, 0), keep(z, 1), keep(z, 2), keep(z, 3)
        z4, z5, z6, z7 = keep(z, 4), keep(z, 5), keep(z, 6), keep(z, 7)
        u0, u1, u2, u3 = keep(u, 0), keep(u, 1), keep(u, 2), keep(u, 3)
        u4, u5, u6, u7 = keep(u, 4), keep(u, 5), keep(u, 6), keep(u, 7)
        for j in range(rows.shape[1]):
            aj, bj, cj, dj, ej, fj, gj, hj = a[j], b[j], c[j], d[j], e[j], f[j], g[j], h[j]
            low = (aj & x0) ^ (bj & x1) ^ (cj & x2) ^ (dj & x3)
            p[j] ^= low ^ (ej & x4) ^ (fj & x5) ^ (gj & x6) ^ (hj & x7)
            low = (aj & y0) ^ (bj & y1) ^ (cj & y2) ^ (dj & y3)
            q[j] ^= low ^ (ej & y4) ^ (fj & y5) ^ (gj & y6) ^ (hj & y7)
            low = (aj & z0) ^ (bj & z1) ^ (cj & z2) ^ (dj & z3)
            r[j] ^= low ^ (ej & z4) ^ (fj & z5) ^ (gj & z6) ^ (hj & z7)
            low = (aj & u0) ^ (bj & u1) ^ (cj & u2) ^ (dj & u3)
            s[j] ^= low ^ (ej & u4) ^ (fj & u5) ^ (gj & u6) ^ (hj & u7)
    for i in range(whole, rows.shape[0]):
        row = rows[i]
        for k in range(4):
            one, total = keep(np.uint64(masks[k, i >> 3]), i & 7), found[k]
            for j in range(rows.shape[1]):
                total[j] ^= row[j] & one


@kernel("uint64(uint64[::1])")
def read_all(words: Words) -> int:
    """Exclusive or of all words: what reading alone costs."""
    found = NONE
    for i in range(words.size):
        found ^= words[i]
    return found  # type: ignore[return-value]
