-- Limits of game servers, ports that their people add, mounts, servers that move to another organisation, and servers that
-- were deleted.

-- 0: without limit.
alter table game_servers
  drop constraint game_servers_memory_mib_check,
  drop constraint game_servers_cpu_percent_check,
  drop constraint game_servers_disk_mib_check,
  add check (memory_mib >= 0),
  add check (cpu_percent >= 0),
  add check (disk_mib >= 0),
  -- weight of its reads and writes of disks among all that the host runs
  add column io_weight integer not null default 500 check (io_weight between 10 and 1000),
  -- cores of the host as Linux lists them: 0-3,6; null: all
  add column cores text,
  -- whether the kernel ends its processes when its memory is full
  add column oom_killer boolean not null default true,
  -- files, folders and links; 0: as many as its disk allows
  add column entry_limit integer not null default 0 check (entry_limit >= 0),
  -- ports that it may have in all when its people add some; 0: they add none
  add column port_limit integer not null default 0 check (port_limit between 0 and 64),
  -- an image in place of those of its egg
  add column docker_image text,
  -- a startup line in place of the egg's
  add column startup text,
  -- names of mounts of its node
  add column mounts text[] not null default '{}',
  -- the port that its people chose as the first one; null, or none of its ports: the first that is declared
  add column chosen_ip inet,
  add column chosen_port integer,
  -- the build that its files are of, where it was deleted and restored
  add column restored_epoch integer,
  add check ((chosen_ip is null) = (chosen_port is null));

create trigger game_servers_notify_limits after update of
    io_weight, cores, oom_killer, entry_limit, docker_image, startup, mounts, chosen_ip, chosen_port,
    restored_epoch
  on game_servers for each row execute function notify_node();

alter table nodes
  -- [{"name", "source", "target", "read_only", "eggs"}]
  add column mounts jsonb not null default '[]' check (jsonb_typeof(mounts) = 'array'),
  -- how long it keeps the files of a deleted server; -1: until they are purged by hand
  add column keep_days integer not null default 7 check (keep_days between -1 and 3650);

-- A node is notified when its mounts change, because its servers get others.
create function notify_changed_node() returns trigger language plpgsql as $$
begin
  perform pg_notify('portcullis_nodes', new.name);
  return null;
end
$$;
create trigger nodes_notify after update of mounts on nodes
  for each row when (old.mounts is distinct from new.mounts) execute function notify_changed_node();

-- Ports that people of a server added, from those that its node gives. They are no part of its declaration.
create table added_ports (
  id bigint generated always as identity primary key,
  server uuid not null references game_servers on delete cascade,
  ip inet not null check (masklen(ip) = case family(ip) when 4 then 32 else 128 end),
  port integer not null check (port between 1 and 65535),
  protocols text[] not null check (protocols <@ '{tcp,udp}' and cardinality(protocols) between 1 and 2),
  name text,
  created_at timestamptz not null default now(),
  unique (server, ip, port)
);
create unique index added_ports_name on added_ports (server, name) where name is not null;

-- All ports of servers: those that are declared, then those that were added; the one that was chosen is the first. Made for
-- each server, so that a condition on servers reads no others.
create view all_server_ports as
  select g.uuid as server, g.organisation_id, g.service_id, p.ip, p.port, p.protocols, p.variable, p.name, p.added_id, p.number
    from game_servers g cross join lateral (
      select l.*, row_number() over (
               order by coalesce((g.chosen_ip, g.chosen_port) = (l.ip, l.port), false) desc, l.added_id nulls first, l.place)
               as number
        from (
          select g.ip, g.port, (select egg -> 'protocols' from eggs where digest = g.egg_digest) as protocols,
                 null::text as variable, null::text as name, null::bigint as added_id, 1::bigint as place
           where g.ports = '[]'
          union all
          select (x ->> 'ip')::inet, (x ->> 'port')::integer, x -> 'protocols', x ->> 'variable', x ->> 'name', null, n
            from jsonb_array_elements(g.ports) with ordinality as listed (x, n)
          union all
          select a.ip, a.port, to_jsonb(a.protocols), null, a.name, a.id, 0 from added_ports a where a.server = g.uuid) l) p;

-- As in 0001, with the ports that were added.
create or replace view named_ports as
  select server as uuid, organisation_id, service_id, 'primary'::text as name, ip, port
    from all_server_ports where number = 1
  union all
  select server, organisation_id, service_id, name, ip, port
    from all_server_ports where name is not null and name <> 'primary';

-- As in 0001. A port that was added is allowed whenever its server runs: the operator lets people add it.
create or replace view wanted_openings as
  select distinct g.uuid as server, t.holding_id, t.ip, protocol, p.port
    from game_servers g
    join nodes n on n.id = g.node_id and n.lost_at is null
    join all_server_ports p on p.server = g.uuid
    cross join lateral jsonb_array_elements_text(p.protocols) protocol
    cross join lateral (
      select h.id as holding_id, h.organisation_id, p.ip
        from (select * from holdings where cidr >>= p.ip and during @> statement_timestamp()
               order by masklen(cidr) desc limit 1) h
      union all
      select h.id, h.organisation_id, host(h.cidr)::inet from holdings h
       where h.service_id = g.service_id and h.during @> statement_timestamp()
         and host(h.cidr)::inet <> p.ip and reaches(host(h.cidr)::inet, p.ip, g.service_id)) t
   where g.provisioned and g.power_state in ('running', 'stopping') and t.organisation_id = g.organisation_id
     and (p.added_id is not null
          or (g.open_while_running
              and (g.open_ports is null or p.name = any(g.open_ports) or (p.number = 1 and 'primary' = any(g.open_ports)))));

create or replace function list_server_ports() returns trigger language plpgsql as $$
begin
  delete from server_ports where uuid = new.uuid;
  insert into server_ports (uuid, ip, port)
  select new.uuid, new.ip, new.port
  union select new.uuid, (p ->> 'ip')::inet, (p ->> 'port')::integer from jsonb_array_elements(new.ports) p
  union select server, ip, port from added_ports where server = new.uuid;
  return null;
end
$$;

-- Keeps `server_ports`, and notifies the node of the server.
create function list_added_ports() returns trigger language plpgsql as $$
declare
  changed uuid := case when tg_op = 'DELETE' then old.server else new.server end;
begin
  -- Fires the trigger above; a server that is being deleted is gone already.
  update game_servers set ports = ports where uuid = changed;
  return null;
end
$$;
create trigger added_ports_listed after insert or update or delete on added_ports
  for each row execute function list_added_ports();

-- Servers that were deleted or moved to another node, until their former node has purged their files.
create table deleted_servers (
  uuid uuid not null,
  node_id bigint not null references nodes on delete cascade,
  -- slug of its organisation, which may be gone too
  organisation text not null,
  name text not null,
  -- as it was declared, to be restored
  declared jsonb not null,
  external_id text,
  build_epoch integer not null,
  deleted_at timestamptz not null default clock_timestamp(),
  -- null: they are kept until they are purged by hand
  purge_at timestamptz,
  primary key (uuid, node_id)
);
create index deleted_servers_node on deleted_servers (node_id);
-- A node is notified of what it has to purge.
create trigger deleted_servers_notify after insert or update or delete on deleted_servers
  for each row execute function notify_node();
