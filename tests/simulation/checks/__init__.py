"""The laws of the design, over records, events and beliefs.

They share no code with the product, whose decisions they do not know.
"""
