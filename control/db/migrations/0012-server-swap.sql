-- Swap of a game server: MiB beyond its memory; -1 is all that its host has.
alter table game_servers add column swap_mib integer not null default 0 check (swap_mib >= -1);

-- As in 0001, with the new column.
create or replace trigger game_servers_notify after insert or delete or update of
    organisation_id, node_id, name, egg_digest, image, variables, memory_mib, cpu_percent, disk_mib, swap_mib, ip, port,
    ports, suspended, crash_restart, crash_within_ms, build_epoch
  on game_servers for each row execute function notify_node();
