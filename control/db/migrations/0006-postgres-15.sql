-- PostgreSQL 15 to 18: 0001 calls pg_input_is_valid, which 15 does not have.

-- Whether a text is an address or a network. The block is a subtransaction that writes nothing, so it takes no
-- transaction id.
create function is_inet(value text) returns boolean immutable strict parallel safe language plpgsql as $$
begin
  perform value::inet;
  return true;
exception when data_exception then
  return false;
end
$$;

-- As in 0001, but for is_inet.
create or replace function live_event() returns trigger language plpgsql as $$
begin
  perform add_event(a.organisation_id, 'write.live', a.target,
      jsonb_build_object('action', a.action, 'generation', a.generation,
        'after_ms', (extract(epoch from new.live_at - new.created_at) * 1000)::bigint))
    from audit a where a.generation = new.generation and a.organisation_id is not null
     -- Edges that serve others confirm it too: it is live where an edge serves its target.
     and exists (
       select from edges e, unnest(e.serves) s
        where e.in_service
          and case when is_inet(a.target) then s && a.target::inet
                   else exists (select from holdings h
                                 where h.organisation_id = a.organisation_id and h.during @> now() and h.cidr && s) end);
  return null;
end
$$;
