"""Sphinx configuration of the release notes; warnings are errors."""

extensions = ['reno.sphinxext']
project = 'ironic-ownership release notes'
copyright = 'ironic-ownership developers'
root_doc = 'index'
html_title = project
html_theme = 'furo'
version = release = ''
