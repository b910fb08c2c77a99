"""What proves an answer: judged and kept."""
