-- A user for hosts, HTTP services and the command line. It can neither change
-- the schema nor alter or delete an event. "ironic-ownership-dbsync" needs
-- another one, with all rights.
GRANT SELECT ON ironic_ownership.* TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE, DELETE ON ironic_ownership.services TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE, DELETE ON ironic_ownership.members TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE, DELETE ON ironic_ownership.condition_reports TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE, DELETE ON ironic_ownership.compute_nodes TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE ON ironic_ownership.instances TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE ON ironic_ownership.moves TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE ON ironic_ownership.node_moves TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE ON ironic_ownership.reservations TO 'ironic_ownership'@'%';
GRANT INSERT, UPDATE ON ironic_ownership.outbox TO 'ironic_ownership'@'%';
GRANT INSERT, DELETE ON ironic_ownership.pauses TO 'ironic_ownership'@'%';
GRANT INSERT ON ironic_ownership.events TO 'ironic_ownership'@'%';
