-- What is done against attacks.

-- One row an attack that something was decided about: enough to go on with it after a restart.
create table attack_responses (
  attack_id bigint primary key,
  -- an address, or the prefix that the attack is spread over
  target cidr not null,
  -- of the attack, for its partition
  started_at timestamptz not null,
  -- {"type", "shares", "tops"} as they were heard last
  facts jsonb not null,
  -- null: it goes on
  ended_at timestamptz,
  -- nothing is done any longer then, whatever is heard
  expires_at timestamptz not null,
  cancelled_at timestamptz,
  cancelled_by text,
  -- the first enforcing edge had it in its kernel
  mitigated_at timestamptz,
  -- everything is withdrawn, and nothing more will be done unless it goes on
  closed_at timestamptz
);
create index attack_responses_open on attack_responses (attack_id) where closed_at is null;

create table mitigations (
  id bigint generated always as identity primary key,
  attack_id bigint not null references attack_responses on delete cascade,
  target cidr not null,
  -- a MitigationAction (core/attacks/actions.ts)
  action jsonb not null,
  mode text not null check (mode in ('enforce', 'observe')),
  -- networks without the length of single addresses, as policies write them
  safelist text[] not null default '{}',
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  ended_because text check (ended_because in ('over', 'expired', 'cancelled', 'settings')),
  check ((deleted_generation is null) = (deleted_at is null)),
  check ((deleted_generation is null) = (ended_because is null))
);
create unique index mitigations_identical on mitigations (attack_id, action) where deleted_generation is null;
create index mitigations_target on mitigations using gist (target inet_ops);
create index mitigations_deleted on mitigations (deleted_at) where deleted_at is not null;

-- An address under attack has a policy of its own.
create or replace function has_own_policy(address inet) returns boolean stable language sql as $$
  select exists (select from addresses a join holdings h on h.id = a.holding_id
                  where a.ip = address and a.configured and h.during @> statement_timestamp())
      or exists (select from group_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from geo_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from mitigations m where m.target = address and m.deleted_generation is null)
$$;
