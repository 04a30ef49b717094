"""Sphinx configuration of the documentation; warnings are errors."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / '_ext'))

extensions = [
    'sphinx.ext.autodoc',
    'oslo_config.sphinxext',
    'cliff.sphinxext',
    'commands_by_task',
    'stevedore.sphinxext',
    'described_codes',
    'layer_picture',
    'notes_by_release',
    'openapi_reference',
    'oslo_policy.sphinxext',
    'plugin_template',
]
project = 'ironic-ownership'
copyright = 'ironic-ownership developers'
root_doc = 'index'
html_title = project
html_theme = 'furo'
html_static_path = ['_static']
html_css_files = ['tables.css']
version = release = ''

autodoc_member_order = 'bysource'
autodoc_typehints = 'description'
autodoc_typehints_format = 'short'
autoprogram_cliff_application = 'ironic-ownership'
# The page of the command line describes the options of output once.
autoprogram_cliff_ignored = [
    '--help',
    '--format',
    '--column',
    '--quote',
    '--noindent',
    '--max-width',
    '--fit-width',
    '--print-empty',
    '--sort-column',
    '--sort-ascending',
    '--sort-descending',
    '--prefix',
]

# One manual page for each program.
man_pages = [
    (f'reference/cli/{name}', name, description, 'ironic-ownership developers', section)
    for name, description, section in (
        ('ironic-ownership', 'inspect and change the owners of nodes', 1),
        ('ironic-ownership-host', 'own nodes of Ironic', 8),
        ('ironic-ownership-api', 'serve the HTTP interface', 8),
        ('ironic-ownership-dbsync', 'upgrade and purge the database', 8),
        ('ironic-ownership-status', 'check before an upgrade', 8),
    )
]


def setup(app):
    """Register the entries of the reference of findings."""
    app.add_object_type('finding', 'finding')
