-- Collectors are agents: each is let in by a credential of its own, and says how it is.

alter table collectors
  add credential_hash bytea check (length(credential_hash) = 32),
  add enrolled_at timestamptz,
  -- the process that spoke last; another one says hello first
  add instance text,
  add last_seen_at timestamptz,
  add report jsonb,
  add check ((credential_hash is null) = (enrolled_at is null));

-- Whoever runs or serves collectors looks again; by name, as what was told before the commit may be gone.
create function tell_collectors() returns trigger language plpgsql as $$
begin
  perform pg_notify('portcullis_collectors', coalesce(new.name, old.name));
  return null;
end
$$;
create trigger collectors_told after insert or delete or update of name, listen, exporters, site, credential_hash
  on collectors for each row execute function tell_collectors();
