"""`/app/extrato`: an account's consumption, grouped and compared, its proof, and monthly sheets."""
