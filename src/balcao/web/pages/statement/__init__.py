"""`/app/extrato`: what an account consumed, grouped, compared, proven, and a month's own page."""
