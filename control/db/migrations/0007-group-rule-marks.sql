-- The organisation's own name, end and note of a group's rules and filters, as rules of addresses have them. Like those
-- they change without a new row.
alter table group_rules
  add column ref text check (char_length(ref) between 1 and 100),
  add column expires_at timestamptz,
  add column note text;
alter table group_filters
  add column ref text check (char_length(ref) between 1 and 100),
  add column expires_at timestamptz,
  add column note text;
create unique index group_rules_ref on group_rules (group_id, ref) where deleted_generation is null and ref is not null;
create unique index group_filters_ref on group_filters (group_id, ref) where deleted_generation is null and ref is not null;
create index group_rules_expiry on group_rules (expires_at) where deleted_generation is null and expires_at is not null;
create index group_filters_expiry on group_filters (expires_at) where deleted_generation is null and expires_at is not null;
