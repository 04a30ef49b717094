"""Sphinx configuration of the release notes; warnings are errors."""

extensions = ['openstackdocstheme', 'reno.sphinxext']
project = 'ironic-ownership release notes'
copyright = 'ironic-ownership developers'
root_doc = 'index'
html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
version = release = ''
