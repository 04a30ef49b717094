"""Delete providers, records and services, through gates that lose nothing."""
