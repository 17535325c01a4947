-- Takes: no time.
-- Nothing: its number is that of a migration made beside the next one.
DO 0;
