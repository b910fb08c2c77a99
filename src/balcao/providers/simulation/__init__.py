"""What simulated providers share: requests and replies, how documents fail, receipts."""
