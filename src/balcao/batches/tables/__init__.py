"""Tables in files, read as rows of texts: CSV, XLSX, JSONL and JSON lists."""
