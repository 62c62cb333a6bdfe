-- Only edges that a generation concerns must confirm it.

-- It may change more than what its targets name: settings of edges, or lists that policies refer to. It concerns every
-- edge then, as does one of a version that does not know this column.
alter table generations add column everywhere boolean not null default true;
create index generations_everywhere on generations (generation) where everywhere;
-- The newest generation that the edge confirmed itself, while confirmed_generation is raised_generation: that rises over
-- generations that do not concern the edge. Where they differ, a version that does not know these columns has recorded a
-- confirmation, and confirmed_generation is what the edge confirmed.
alter table edges add column own_generation bigint not null default 0;
alter table edges add column raised_generation bigint not null default 0;

-- The newest generation at which everything that an edge of these prefixes needs is as it was at `since`. That is `since`
-- itself where it cannot be known: its changes are not kept any more, or too many to look at.
create function unchanged_until(serves cidr[], since bigint) returns table (generation bigint) stable language sql as $$
  select case
      when since >= f.generation or since < f.generation - 10000
        or since < coalesce((select min(g.generation) from generations g), f.generation + 1) - 1
        or exists (select from generations g
                    where g.everywhere and g.generation > since and g.generation <= f.generation)
      then since
      else coalesce(
        (select t.generation - 1 from changes t
          where t.generation > since and t.generation <= f.generation and t.target && any (serves)
          order by t.generation limit 1),
        f.generation)
    end
    from fleet f
$$;
