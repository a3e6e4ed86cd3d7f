"""Plots of confidential numbers that are safe to show: noise is added to what is drawn (Heitzig 2006)."""
