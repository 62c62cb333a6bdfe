-- What is called beside the edges while an attack goes on: a command or a webhook of the operator's.

create table responders (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  -- a ResponderSpec (control/db/schema-mitigations.ts)
  spec jsonb not null check (jsonb_typeof(spec) = 'object'),
  owner owner not null
);

-- Begun for an attack, and to be taken back.
create table responder_runs (
  id bigint generated always as identity primary key,
  attack_id bigint not null references attack_responses on delete cascade,
  responder text not null,
  -- as it was then: it is taken back in the way in which it was begun
  spec jsonb not null,
  begun_at timestamptz not null default now(),
  -- taken back then, whatever the attack does
  expires_at timestamptz not null,
  -- null: it stands
  withdrawn_at timestamptz,
  withdrawn_because text check (withdrawn_because in ('over', 'expired', 'cancelled', 'settings')),
  check ((withdrawn_at is null) = (withdrawn_because is null))
);
create unique index responder_runs_standing on responder_runs (attack_id, responder) where withdrawn_at is null;
create index responder_runs_attack on responder_runs (attack_id);

-- Calls that a run needs: made at least once each, so the one who is called tells them apart by their id.
create table responder_calls (
  id bigint generated always as identity primary key,
  run_id bigint not null references responder_runs on delete cascade,
  kind text not null check (kind in ('start', 'withdraw')),
  attempts integer not null default 0,
  -- not before then; while somebody is at it, when he must be done
  due_at timestamptz not null default now(),
  settled_at timestamptz,
  succeeded boolean,
  -- what it said last
  result text,
  unique (run_id, kind),
  check ((settled_at is null) = (succeeded is null))
);
create index responder_calls_due on responder_calls (due_at) where settled_at is null;
