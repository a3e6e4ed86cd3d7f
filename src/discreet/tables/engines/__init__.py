"""The field's own engines: each proposes a pattern, and claims nothing.

``propose(system, cost, settings) -> Proposal`` in every module. An audit says what a proposal is worth, and the
certified method completes it where it falls short. Progress goes through :mod:`discreet.progress`.
"""
