-- An account is proven once its address has answered (a link that was mailed to it), or by the operator's word (a link
-- that an operator made). Until then only links of the organisation that made it are accepted for it.
alter table people
  add column proven_at timestamptz default now(),
  -- the organisation whose link made the account
  add column made_by bigint references organisations on delete set null;
-- Accounts of before this migration were accepted by every organisation that they belong to, and go on working.
update people set proven_at = created_at;

-- A link is good while its maker could make it now. Null: the command line on the database, which could always.
alter table portal_links
  add column maker_id bigint references people on delete cascade,
  -- SHA-256 of the token that is mailed and shown to nobody else, so that accepting it proves the address
  add column mailed_hash bytea unique;
update portal_links l set maker_id = p.id from people p where p.email = l.created_by;
create index portal_links_maker on portal_links (maker_id) where used_at is null;
create index portal_links_person on portal_links (person_id) where used_at is null;

-- The same for tokens of hosts, which a person or a key of the operator makes. Those of before are an hour old at most.
alter table join_tokens
  add column maker_id bigint references people on delete cascade,
  add column maker_key_id bigint references api_keys on delete cascade;

-- Ends the event streams of keys that changed, whatever changed them. The last use of a key is none of it.
create trigger api_keys_access
  after delete or update of secret_hash, abilities, servers, managed_servers, prefixes, sources, expires_at,
    revoked_at, suspended_at on api_keys
  for each row execute function access_changed();
