"""E-mail to the people of accounts: sealed for the queue, rendered, and sent by SMTP."""
