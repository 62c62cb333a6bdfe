-- Ports of game servers that are allowed while the server runs: all, or those of these names.
alter table game_servers add column open_while_running boolean not null default false,
  add column open_ports text[];
create index game_servers_open_while_running on game_servers (node_id) where open_while_running;
-- Set when a node was not heard for so long that nobody knows what runs there; its next heartbeat clears it.
alter table nodes add column lost_at timestamptz;

-- What is allowed at present, made of what the nodes report. Server without a foreign key, as in rules.
create table server_openings (
  id bigint generated always as identity primary key,
  server uuid not null,
  holding_id bigint not null references holdings,
  ip inet not null check (masklen(ip) = case family(ip) when 4 then 32 else 128 end),
  protocol text not null check (protocol in ('tcp', 'udp')),
  port integer not null check (port between 1 and 65535),
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check ((deleted_generation is null) = (deleted_at is null))
);
create unique index server_openings_identical on server_openings (server, holding_id, ip, protocol, port)
  where deleted_generation is null;
create index server_openings_ip on server_openings (ip);
create index server_openings_holding on server_openings (holding_id);
create index server_openings_deleted on server_openings (deleted_at) where deleted_at is not null;

-- What should be allowed: the ports of servers that run, where they are reached. `stopping` is running: players are
-- told why, and data is saved.
create view wanted_openings as
  select distinct g.uuid as server, t.holding_id, t.ip, protocol, p.port
    from game_servers g
    join nodes n on n.id = g.node_id and n.lost_at is null
    join eggs e on e.digest = g.egg_digest
    cross join lateral (
      select g.ip, g.port, e.egg -> 'protocols' as protocols, array['primary'] as names where g.ports = '[]'
      union all
      select (x ->> 'ip')::inet, (x ->> 'port')::integer, x -> 'protocols',
             array[x ->> 'name', case when number = 1 then 'primary' end]
        from jsonb_array_elements(g.ports) with ordinality as listed (x, number)) p
    cross join lateral jsonb_array_elements_text(p.protocols) protocol
    cross join lateral (
      select h.id as holding_id, h.organisation_id, p.ip
        from (select * from holdings where cidr >>= p.ip and during @> statement_timestamp()
               order by masklen(cidr) desc limit 1) h
      union all
      select h.id, h.organisation_id, host(h.cidr)::inet from holdings h
       where h.service_id = g.service_id and h.during @> statement_timestamp()
         and host(h.cidr)::inet <> p.ip and reaches(host(h.cidr)::inet, p.ip, g.service_id)) t
   where g.open_while_running and g.provisioned and g.power_state in ('running', 'stopping')
     and t.organisation_id = g.organisation_id and (g.open_ports is null or g.open_ports && p.names);

-- An address with an open port has a policy of its own.
create or replace function has_own_policy(address inet) returns boolean stable language sql as $$
  select exists (select from addresses a join holdings h on h.id = a.holding_id
                  where a.ip = address and a.configured and h.during @> statement_timestamp())
      or exists (select from group_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from geo_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from default_actions d join holdings h on h.id = d.holding_id
                  where d.target = address and d.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from server_openings o join holdings h on h.id = o.holding_id
                  where o.ip = address and o.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from mitigations m where m.target = address and m.deleted_generation is null)
$$;

-- That a state is not known any more is no change of it.
drop trigger game_servers_events on game_servers;
create trigger game_servers_events after update of power_state, crashed_at_ms, build_state on game_servers
  for each row when (new.power_state is not null or old.power_state is null) execute function server_event();
