"""The publisher's month, fetched by itself: found, waited for, downloaded, checked, switched in."""
