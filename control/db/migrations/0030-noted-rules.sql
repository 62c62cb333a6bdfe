-- Addresses are found by the notes and tags of their rules.
create index rules_noted on rules (address_id) where deleted_generation is null and (note is not null or tags <> '{}');
