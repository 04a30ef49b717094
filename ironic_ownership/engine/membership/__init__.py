"""Be a member, stand by, die: who may act for a host, and until when."""
