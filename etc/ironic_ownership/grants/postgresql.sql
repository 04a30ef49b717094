-- A user for hosts, HTTP services and the command line. It can neither change
-- the schema nor alter or delete an event. "ironic-ownership-dbsync" needs
-- another one, with all rights.
GRANT SELECT ON ALL TABLES IN SCHEMA public TO ironic_ownership;
GRANT INSERT, UPDATE, DELETE ON services TO ironic_ownership;
GRANT INSERT, UPDATE, DELETE ON members TO ironic_ownership;
GRANT INSERT, UPDATE, DELETE ON condition_reports TO ironic_ownership;
GRANT INSERT, UPDATE, DELETE ON compute_nodes TO ironic_ownership;
GRANT INSERT, UPDATE ON instances TO ironic_ownership;
GRANT INSERT, UPDATE ON moves TO ironic_ownership;
GRANT INSERT, UPDATE ON node_moves TO ironic_ownership;
GRANT INSERT, UPDATE ON reservations TO ironic_ownership;
GRANT INSERT, UPDATE ON outbox TO ironic_ownership;
GRANT INSERT, DELETE ON pauses TO ironic_ownership;
GRANT INSERT ON events TO ironic_ownership;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ironic_ownership;
