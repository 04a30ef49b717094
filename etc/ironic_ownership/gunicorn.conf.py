"""The HTTP service on gunicorn, instead of ironic-ownership-api.

gunicorn --config gunicorn.conf.py ironic_ownership.web.wsgi:application

All other settings are read from ironic-ownership.conf.
"""

bind = '127.0.0.1:6396'
workers = 2
threads = 8
# Seconds; a list of 100,000 nodes takes Ironic half a minute.
timeout = 120
_files = '/etc/ironic-ownership/ironic-ownership.conf'
raw_env = [f'IRONIC_OWNERSHIP_CONFIG_FILES={_files}']
