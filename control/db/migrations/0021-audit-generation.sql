-- The history of an address reads who made a generation.
create index audit_generation on audit (generation) where generation is not null;
