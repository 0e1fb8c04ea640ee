"""What several measurements use: models, servers, browsers, clocks, and how a record is made."""
