-- A rule may name a port of a game server. `port` is what the name meant when the row was written: the transaction that
-- changes the allocation writes a new row. Server without a foreign key, because deleted rules outlive servers.
alter table rules add column port_server uuid, add column port_name text,
  add check ((port_server is null) = (port_name is null)), add check (port_name is null or port is not null);
alter table group_rules add column port_server uuid, add column port_name text,
  add check ((port_server is null) = (port_name is null)), add check (port_name is null or port is not null);

-- A rule that follows a name may come to a port that another rule has by number.
drop index rules_identical;
create unique index rules_identical on rules (address_id, action, protocol, source, port, port_server, port_name)
  nulls not distinct where deleted_generation is null;
drop index group_rules_identical;
create unique index group_rules_identical on group_rules (group_id, action, protocol, source, port, port_server, port_name)
  nulls not distinct where deleted_generation is null;
create index rules_port_server on rules (port_server) where port_server is not null and deleted_generation is null;
create index group_rules_port_server on group_rules (port_server)
  where port_server is not null and deleted_generation is null;

-- The first port is `primary`, whatever else it is called.
create view named_ports as
  select g.uuid, g.organisation_id, g.service_id, p.name, p.ip, p.port
    from game_servers g, lateral (
      select 'primary' as name, g.ip, g.port
      union
      select p ->> 'name', (p ->> 'ip')::inet, (p ->> 'port')::integer
        from jsonb_array_elements(g.ports) p where p ->> 'name' is not null) p;

-- Whether packets to an address arrive at what a server of this service has bound. A server on an address that nobody
-- holds (behind NAT) may be reached at any address of its service; one on loopback is not reached.
create function reaches(address inet, bound inet, service integer) returns boolean stable language sql as $$
  select bound = address
      or (not bound <<= any ('{127.0.0.0/8,::1}'::inet[])
          and exists (select from holdings h where h.service_id = service and h.during @> statement_timestamp()
                         and host(h.cidr)::inet = address)
          and not exists (select from holdings h where h.cidr >>= bound and h.during @> statement_timestamp()))
$$;

-- `Survival:query`; the uuid where the organisation has several servers of that name.
create function shown_port(server uuid, port text) returns text stable language sql as $$
  select coalesce((select g.name from game_servers g
                    where g.uuid = server and not exists (
                      select from game_servers o where o.organisation_id = g.organisation_id
                         and o.name = g.name and o.uuid <> g.uuid)), server::text) || ':' || port
$$;
