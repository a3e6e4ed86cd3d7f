"""Kernels of retrieval from two servers: every row is read for every question, and no step depends on the question."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.jit import kernel

Words = npt.NDArray[np.uint64]
Masks = npt.NDArray[np.uint8]

ONE = np.uint64(1)
NONE = np.uint64(0)


@kernel("void(uint64[:,::1], uint8[::1], uint64[::1])")
def xor_one(rows: Words, mask: Masks, found: Words) -> None:
    """Exclusive or of the rows whose bit is set in a mask, eight rows a step, without a branch."""
    whole = rows.shape[0] // 8 * 8
    for i in range(0, whole, 8):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        e, f, g, h = rows[i + 4], rows[i + 5], rows[i + 6], rows[i + 7]
        byte = np.uint64(mask[i >> 3])
        k0, k1 = NONE - (byte & ONE), NONE - ((byte >> np.uint64(1)) & ONE)
        k2, k3 = NONE - ((byte >> np.uint64(2)) & ONE), NONE - ((byte >> np.uint64(3)) & ONE)
        k4, k5 = NONE - ((byte >> np.uint64(4)) & ONE), NONE - ((byte >> np.uint64(5)) & ONE)
        k6, k7 = NONE - ((byte >> np.uint64(6)) & ONE), NONE - ((byte >> np.uint64(7)) & ONE)
        for j in range(found.size):
            low = (a[j] & k0) ^ (b[j] & k1) ^ (c[j] & k2) ^ (d[j] & k3)
            found[j] ^= low ^ (e[j] & k4) ^ (f[j] & k5) ^ (g[j] & k6) ^ (h[j] & k7)
    for i in range(whole, rows.shape[0]):
        row = rows[i]
        keep = NONE - ((np.uint64(mask[i >> 3]) >> np.uint64(i & 7)) & ONE)
        for j in range(found.size):
            found[j] ^= row[j] & keep


@kernel("void(uint64[:,::1], uint8[:,::1], uint64[:,::1])")
def xor_four(rows: Words, masks: Masks, found: Words) -> None:
    """The same for four masks in one pass over the rows, four rows a step."""
    p, q, r, s = found[0], found[1], found[2], found[3]
    whole = rows.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        at, shift = i >> 3, np.uint64(i & 4)
        x, y = np.uint64(masks[0, at]) >> shift, np.uint64(masks[1, at]) >> shift
        z, u = np.uint64(masks[2, at]) >> shift, np.uint64(masks[3, at]) >> shift
        x0, x1 = NONE - (x & ONE), NONE - ((x >> np.uint64(1)) & ONE)
        x2, x3 = NONE - ((x >> np.uint64(2)) & ONE), NONE - ((x >> np.uint64(3)) & ONE)
        y0, y1 = NONE - (y & ONE), NONE - ((y >> np.uint64(1)) & ONE)
        y2, y3 = NONE - ((y >> np.uint64(2)) & ONE), NONE - ((y >> np.uint64(3)) & ONE)
        z0, z1 = NONE - (z & ONE), NONE - ((z >> np.uint64(1)) & ONE)
        z2, z3 = NONE - ((z >> np.uint64(2)) & ONE), NONE - ((z >> np.uint64(3)) & ONE)
        u0, u1 = NONE - (u & ONE), NONE - ((u >> np.uint64(1)) & ONE)
        u2, u3 = NONE - ((u >> np.uint64(2)) & ONE), NONE - ((u >> np.uint64(3)) & ONE)
        for j in range(rows.shape[1]):
            v, w, m, n = a[j], b[j], c[j], d[j]
            p[j] ^= (v & x0) ^ (w & x1) ^ (m & x2) ^ (n & x3)
            q[j] ^= (v & y0) ^ (w & y1) ^ (m & y2) ^ (n & y3)
            r[j] ^= (v & z0) ^ (w & z1) ^ (m & z2) ^ (n & z3)
            s[j] ^= (v & u0) ^ (w & u1) ^ (m & u2) ^ (n & u3)
    for i in range(whole, rows.shape[0]):
        row = rows[i]
        for k in range(4):
            keep = NONE - ((np.uint64(masks[k, i >> 3]) >> np.uint64(i & 7)) & ONE)
            for j in range(rows.shape[1]):
                found[k, j] ^= row[j] & keep


@kernel("uint64(uint64[::1])")
def read_all(words: Words) -> int:
    """Exclusive or of all words: what reading alone costs."""
    found = NONE
    for i in range(words.size):
        found ^= words[i]
    return found  # type: ignore[return-value]
