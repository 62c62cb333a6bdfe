-- Readiness tries an insert here, which it rolls back: a full disk or a read-only server refuses it.
create unlogged table write_probe (filler bytea not null);
