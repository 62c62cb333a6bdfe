-- An exporter without prefixes was believed of every destination. Now the operator says so by the word "all".
update collectors set exporters = (
  select coalesce(jsonb_agg(case when coalesce(e.value -> 'prefixes', 'null') = 'null'
                                 then jsonb_set(e.value, '{prefixes}', '"all"') else e.value end
                            order by e.position), '[]')
    from jsonb_array_elements(exporters) with ordinality e (value, position));
alter table collectors add constraint collectors_exporters_prefixes
  check (not jsonb_path_exists(exporters, '$[*] ? (!(exists (@.prefixes)) || @.prefixes == null)'));

-- The newest generation for which an organisation had an event of refusals.
create table refusal_events (
  organisation_id bigint primary key references organisations on delete cascade,
  generation bigint not null
);

-- One event for an organisation and generation, in our words: an edge's own would reach customers, and their programs.
drop trigger edge_refusals_events on edge_refusals;
create or replace function refusal_event() returns trigger language plpgsql as $$
begin
  with concerned as (
    select h.organisation_id, max(e.confirmed_generation) as generation, min(e.name) as edge,
           min(r.target) as target, count(distinct r.target) as addresses
      from new_refusals r join edges e on e.id = r.edge_id, lateral (
        select organisation_id from holdings where cidr >>= r.target and during @> now()
         order by masklen(cidr) desc limit 1) h
     group by h.organisation_id
  ), first as (
    insert into refusal_events as known (organisation_id, generation)
    select organisation_id, generation from concerned order by organisation_id
    on conflict (organisation_id) do update set generation = excluded.generation
     where known.generation < excluded.generation
    returning organisation_id
  )
  insert into events (organisation_id, kind, target, data)
  select c.organisation_id, 'propagation.failed', abbrev(c.target::inet),
         jsonb_build_object('edge', c.edge, 'generation', c.generation, 'addresses', c.addresses,
           'reason', 'they stay as they were until it can; the operator sees why')
    from concerned c join first using (organisation_id);
  if found then
    perform pg_notify('portcullis_events', '');
  end if;
  return null;
end
$$;
create trigger edge_refusals_events after insert on edge_refusals
  referencing new table as new_refusals for each statement execute function refusal_event();

-- By how much a node's heartbeats have used up their rate of port changes; ahead of now by a burst at most (settle.ts).
alter table nodes add column ports_due timestamptz not null default '-infinity';

-- The hosts that wait with a token for approval, each by the fingerprint of the key that it made for joining.
create table join_hosts (
  token_id bigint not null references join_tokens on delete cascade,
  fingerprint text not null,
  presented_from inet,
  presented_at timestamptz not null default now(),
  primary key (token_id, fingerprint)
);
-- Whom the operator approved. A token that was approved without one is not.
alter table join_tokens add column approved_fingerprint text;
update join_tokens set approved_at = null where used_at is null;
