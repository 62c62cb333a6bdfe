-- What is held for all control planes together, however many there are.

-- How many attacks each edge told of late: what it has spent is given back over an hour.
create table late_budgets (
  edge text primary key,
  spent double precision not null,
  -- when that was so
  at timestamptz not null default now()
);

-- While somebody is at a call, until when at most; null: nobody.
alter table responder_calls add claimed_until timestamptz;
create index responder_calls_claimed on responder_calls (claimed_until) where settled_at is null and claimed_until is not null;
