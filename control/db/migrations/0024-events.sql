-- What happens, for streams and webhooks: written by the transactions that cause it, kept seven days.
create table events (
  id bigint generated always as identity primary key,
  -- Events are read in the order of transactions, and only those older than every transaction that still runs: so
  -- nothing appears behind a reader.
  transaction xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  -- null: concerns the operator alone
  organisation_id bigint references organisations on delete cascade,
  kind text not null,
  -- an address, a prefix, a server's uuid, an attack's id, or such as group:3
  target text not null,
  data jsonb not null default '{}'
);
create index events_order on events (transaction, id);
create index events_organisation on events (organisation_id, transaction, id);
create index events_at on events (at);

create function add_event(organisation bigint, event text, subject text, detail jsonb) returns void
language sql as $$
  insert into events (organisation_id, kind, target, data) values (organisation, event, subject, detail);
  select pg_notify('portcullis_events', '');
$$;

-- Every write that takes a generation is audited in its transaction.
create function audit_event() returns trigger language plpgsql as $$
begin
  perform add_event(new.organisation_id, 'write.accepted', new.target,
    jsonb_build_object('action', new.action, 'actor', new.actor, 'generation', new.generation));
  return null;
end
$$;
create trigger audit_events after insert on audit for each row
  when (new.generation is not null and new.organisation_id is not null) execute function audit_event();

create function live_event() returns trigger language plpgsql as $$
begin
  perform add_event(a.organisation_id, 'write.live', a.target,
      jsonb_build_object('action', a.action, 'generation', a.generation,
        'after_ms', (extract(epoch from new.live_at - new.created_at) * 1000)::bigint))
    from audit a where a.generation = new.generation and a.organisation_id is not null;
  return null;
end
$$;
-- A fleet that gets its first edge sets live_at to created_at: nothing became live then.
create trigger generations_events after update of live_at on generations for each row
  when (old.live_at is null and new.live_at > new.created_at) execute function live_event();

create function refusal_event() returns trigger language plpgsql as $$
begin
  perform add_event(h.organisation_id, 'propagation.failed', abbrev(new.target::inet),
      jsonb_build_object('edge', e.name, 'reason', new.reason, 'generation', new.good_generation))
    from edges e, lateral (
      select organisation_id from holdings where cidr >>= new.target and during @> now()
       order by masklen(cidr) desc limit 1) h
   where e.id = new.edge_id;
  return null;
end
$$;
create trigger edge_refusals_events after insert on edge_refusals for each row execute function refusal_event();

create function edge_event() returns trigger language plpgsql as $$
begin
  perform add_event(null, case when new.in_service then 'agent.joined' else 'agent.lost' end, 'edge:' || new.name,
    jsonb_build_object('mode', new.mode));
  return null;
end
$$;
create trigger edges_events after update of in_service on edges for each row
  when (old.in_service <> new.in_service) execute function edge_event();

-- An attack changes by another version of its row, or where nobody can have read it, in place.
create function attack_event() returns trigger language plpgsql as $$
declare
  earlier attacks;
  detail jsonb;
begin
  if tg_op = 'UPDATE' then
    earlier := old;
  else
    select * into earlier from attacks a where a.id = new.id and a.revision < new.revision
     order by a.revision desc limit 1;
  end if;
  detail := jsonb_build_object('attack', new.id, 'attack_type', new.attack_type, 'peak_bps', new.peak_bps,
    'peak_pps', new.peak_pps, 'started_at', to_char(new.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'));
  if earlier.id is null then
    perform add_event(new.organisation_id, 'attack.opened', abbrev(new.subject::inet), detail);
  end if;
  if new.mitigated_at is not null and earlier.mitigated_at is null then
    perform add_event(new.organisation_id, 'attack.mitigated', abbrev(new.subject::inet), detail);
  end if;
  if new.ended_at is not null and earlier.ended_at is null then
    perform add_event(new.organisation_id, 'attack.ended', abbrev(new.subject::inet), detail);
  end if;
  return null;
end
$$;
create trigger attacks_opened after insert on attacks for each row
  when (new.organisation_id is not null and new.until_revision = 9223372036854775807)
  execute function attack_event();
create trigger attacks_changed after update on attacks for each row
  when (new.organisation_id is not null and new.until_revision = 9223372036854775807
        and (new.mitigated_at is distinct from old.mitigated_at or new.ended_at is distinct from old.ended_at))
  execute function attack_event();

-- As its node last reported it; null: not yet.
alter table game_servers add column power_state text, add column crashed_at_ms double precision;

create function server_event() returns trigger language plpgsql as $$
begin
  if new.power_state is distinct from old.power_state and old.power_state is not null then
    perform add_event(new.organisation_id, 'server.state', new.uuid::text,
      jsonb_build_object('name', new.name, 'from', old.power_state, 'state', new.power_state));
  end if;
  if new.crashed_at_ms > coalesce(old.crashed_at_ms, 0) and old.power_state is not null then
    perform add_event(new.organisation_id, 'server.crashed', new.uuid::text,
      jsonb_build_object('name', new.name, 'state', new.power_state));
  end if;
  if new.build_state <> old.build_state then
    perform add_event(new.organisation_id, 'server.build', new.uuid::text,
      jsonb_build_object('name', new.name, 'state', new.build_state));
  end if;
  return null;
end
$$;
create trigger game_servers_events after update of power_state, crashed_at_ms, build_state on game_servers
  for each row execute function server_event();
