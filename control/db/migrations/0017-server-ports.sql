-- All ports of a server, the first one too; empty: `ip` and `port` with the protocols of the egg.
alter table game_servers add column ports jsonb not null default '[]' check (jsonb_typeof(ports) = 'array');

-- Kept by a trigger, so that no two servers ever have the same port.
create table server_ports (
  uuid uuid not null references game_servers on delete cascade,
  ip inet not null,
  port integer not null check (port between 1 and 65535)
);
create index server_ports_server on server_ports (uuid);

create function list_server_ports() returns trigger language plpgsql as $$
begin
  delete from server_ports where uuid = new.uuid;
  insert into server_ports (uuid, ip, port)
  select new.uuid, new.ip, new.port
  union select new.uuid, (p ->> 'ip')::inet, (p ->> 'port')::integer from jsonb_array_elements(new.ports) p;
  return null;
end
$$;
create trigger game_servers_ports after insert or update of ip, port, ports on game_servers
  for each row execute function list_server_ports();
insert into server_ports (uuid, ip, port) select uuid, ip, port from game_servers;
alter table game_servers drop constraint game_servers_allocation;
-- Deferred, so that two servers can change places in one transaction.
alter table server_ports add constraint game_servers_allocation unique (ip, port) deferrable initially deferred;

drop trigger game_servers_told on game_servers;
create trigger game_servers_told after insert or delete or update of
    organisation_id, node_id, name, egg_digest, image, variables, memory_mib, cpu_percent, disk_mib, ip, port, ports,
    suspended, crash_restart, crash_within_ms, build_epoch
  on game_servers for each row execute function tell_node();
