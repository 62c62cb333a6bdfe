-- The verdict on packets that no rule matches, of an address or a prefix; the most specific one inside the holding wins.
create table default_actions (
  id bigint generated always as identity primary key,
  holding_id bigint not null references holdings,
  target cidr not null,
  action text not null check (action in ('accept', 'deny')),
  owner owner not null,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz
);
create unique index default_actions_identical on default_actions (holding_id, target)
  where deleted_generation is null;
create index default_actions_target on default_actions using gist (target inet_ops);
create index default_actions_deleted on default_actions (deleted_at) where deleted_at is not null;

-- An address with a default has a policy of its own.
create or replace function has_own_policy(address inet) returns boolean stable language sql as $$
  select exists (select from addresses a join holdings h on h.id = a.holding_id
                  where a.ip = address and a.configured and h.during @> statement_timestamp())
      or exists (select from group_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from geo_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from default_actions d join holdings h on h.id = d.holding_id
                  where d.target = address and d.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from mitigations m where m.target = address and m.deleted_generation is null)
$$;
