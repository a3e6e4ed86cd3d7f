"""What a sample says of the population behind it: how many of its uniques are unique there, and how many match.

An intruder with a register of everybody looks a record up by its keys. :mod:`.overview` runs every model that is quick;
the others are called by name, because they need to be told more: :mod:`.smoothing` which keys are ordered,
:mod:`.spree` an old census and new margins.
"""
