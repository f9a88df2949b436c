"""Slow, plain twins of the E steps: the definitions, row by row."""

import math

import numpy as np


def gaussian_row(row, weights, means, covariances):
    """ln w_j N(x_seen; μ_j, Σ_j) for each j; and the expected row, and the covariance left in it."""
    d = len(row)
    seen = [i for i in range(d) if not math.isnan(row[i])]
    gone = [i for i in range(d) if math.isnan(row[i])]
    logs, rows, lefts = [], [], []
    for w, mean, cov in zip(weights, means, covariances, strict=True):
        filled, left = np.array(mean, dtype=float), np.array(cov, dtype=float)
        log = math.log(w) if w > 0 else -math.inf
        if seen:
            inner, t = cov[np.ix_(seen, seen)], row[seen] - mean[seen]
            inverse = np.linalg.inv(inner)
            log -= 0.5 * (t @ inverse @ t + np.linalg.slogdet(2 * math.pi * inner)[1])
            across = cov[np.ix_(gone, seen)] @ inverse
            filled[seen] = row[seen]
            filled[gone] = mean[gone] + across @ t
            left[seen, :] = left[:, seen] = 0
            left[np.ix_(gone, gone)] -= across @ cov[np.ix_(seen, gone)]
        logs.append(log)
        rows.append(filled)
        lefts.append(left)
    return np.array(logs), np.array(rows), np.array(lefts)


def shares(logs):
    most = logs.max()
    if most == -math.inf:
        return np.zeros(len(logs)), most
    parts = np.exp(logs - most)
    return parts / parts.sum(), most + math.log(parts.sum())


def gaussian_e_step(x, weights, means, covariances):
    """n (k,), mean (k, d), Σ E[z] E[(x − mean)(x − mean)ᵀ] (k, d, d), ln P(D)."""
    found = [gaussian_row(row, weights, means, covariances) for row in x]
    split = [shares(logs) for logs, _, _ in found]
    r = np.array([share for share, _ in split])
    n = r.sum(axis=0)
    mean = np.array([sum(r[i, j] * found[i][1][j] for i in range(len(x))) / n[j] for j in range(len(weights))])
    squares = np.zeros((len(weights), x.shape[1], x.shape[1]))
    for j in range(len(weights)):
        for i in range(len(x)):
            t = found[i][1][j] - mean[j]
            squares[j] += r[i, j] * (np.outer(t, t) + found[i][2][j])
    return n, mean, squares, sum(log for _, log in split)


def star_e_step(rows, log_weights, log_tables, numbers, means, variances):
    """rows: lists of (feature, times). Expected rows, counts, moments over the numbers present; ln P(D)."""
    k = len(log_weights)
    n, counts = np.zeros(k), np.zeros_like(log_tables)
    moments, total = np.zeros((numbers.shape[1], 3, k)), 0.0
    for entries, x in zip(rows, numbers, strict=True):
        logs = np.array(log_weights)
        for feature, times in entries:
            logs = logs + times * log_tables[feature]
        for d, value in enumerate(x):
            if not math.isnan(value):
                logs = logs - 0.5 * (np.log(2 * math.pi * variances[d]) + (value - means[d]) ** 2 / variances[d])
        r, log = shares(logs)
        n, total = n + r, total + log
        for feature, times in entries:
            counts[feature] += times * r
        for d, value in enumerate(x):
            if not math.isnan(value):
                t = value - means[d]
                moments[d] += np.array([r, r * t, r * t**2])
    return n, counts, moments, total
