-- A large apply changes tables so much that plans made of their old statistics take minutes. The account that serves the
-- API owns no table, so it cannot analyze them by itself.
create function refresh_statistics() returns void language plpgsql security definer
set search_path = pg_catalog, public, pg_temp as $$
begin
  analyze public.organisations, public.asns, public.services, public.holdings, public.addresses, public.api_keys,
    public.groups, public.group_rules, public.group_filters, public.group_assignments;
end
$$;
revoke all on function refresh_statistics from public;
