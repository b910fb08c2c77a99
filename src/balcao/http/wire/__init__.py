"""HTTP/1.1 on the network: what stands below the application (contract 9.9, ADR 0022)."""
