-- The role of control reads and writes rows only. These functions run as their owner, and make and drop partitions of
-- the attack history and nothing else.

create function create_partition(parent text, month timestamptz) returns void
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  name text := parent || to_char(month, '_YYYY_MM');
  first timestamptz := date_trunc('month', month);
begin
  if parent not in ('attacks', 'attack_evidence') then
    raise 'no table with partitions: %', parent using errcode = 'invalid_parameter_value';
  end if;
  execute format('create table %I (like %I including all)', name, parent);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)',
    parent, name, first, first + interval '1 month');
end $$;

create function drop_partition(parent text, name text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if parent not in ('attacks', 'attack_evidence') or not exists (
    select from pg_inherits where inhparent = parent::regclass and inhrelid = to_regclass(quote_ident(name))
  ) then
    raise 'no partition of %: %', parent, name using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table %I', name);
end $$;

revoke all on function create_partition, drop_partition from public;
