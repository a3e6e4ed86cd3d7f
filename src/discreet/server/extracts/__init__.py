"""Extracts of protected records for projects that were approved.

A file is protected once for each edition: sampled, guarded, swapped, recoded, shuffled. Extracts are columns and
records of that file with serial numbers of their own; nothing is drawn anew, so that no two of them differ on anybody.
"""
