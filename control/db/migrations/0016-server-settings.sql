-- What the people of a game server may set beside its variables, image and name.
alter table game_servers
  add column start_with_host text not null default 'as_before'
    check (start_with_host in ('as_before', 'always', 'never')),
  -- from the stop instruction to SIGTERM; null: as the egg says
  add column stop_seconds integer check (stop_seconds between 0 and 3600),
  -- restarts after crashes within crash_within_ms of each other
  add column crash_tries integer not null default 1 check (crash_tries between 1 and 10),
  -- what a build that was asked for does with the files before it; null: they stay
  add column empty_files text check (empty_files in ('bin', 'delete')),
  -- settings that its people set, as JSON pointers: a fleet file that leaves them open keeps them
  add column set_by_people text[] not null default '{}';

-- A trigger of its own, with a condition: a report of a node clears empty_files, which is no news most of the time.
create trigger game_servers_settings_notify after update of
    start_with_host, stop_seconds, crash_tries, empty_files
  on game_servers for each row
  when ((old.start_with_host, old.stop_seconds, old.crash_tries, old.empty_files)
        is distinct from (new.start_with_host, new.stop_seconds, new.crash_tries, new.empty_files))
  execute function notify_node();
