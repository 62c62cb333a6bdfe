-- A node that beats for the first time or again, and one that was lost, as with edges.
create function node_event() returns trigger language plpgsql as $$
begin
  perform add_event(null, case when new.lost_at is null then 'agent.joined' else 'agent.lost' end,
    'node:' || new.name, '{}');
  return null;
end
$$;
create trigger nodes_lost after update of lost_at on nodes for each row
  when ((old.lost_at is null) <> (new.lost_at is null)) execute function node_event();
create trigger nodes_joined after update of engine on nodes for each row
  when (old.engine is null and new.engine is not null and old.lost_at is null and new.lost_at is null)
  execute function node_event();
