-- How people sign in by SFTP: with their SSH keys, or with passwords that the portal made. Never with the account's own.

create table person_ssh_keys (
  id bigint generated always as identity primary key,
  person_id bigint not null references people on delete cascade,
  name text not null,
  -- the first word of the key's line, such as ssh-ed25519
  type text not null,
  -- the key in the form of the wire, RFC 4253 section 6.6
  public_key bytea not null check (octet_length(public_key) <= 2048),
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  unique (person_id, public_key)
);
create trigger person_ssh_keys_access after delete on person_ssh_keys
  for each row execute function access_changed();

create table sftp_passwords (
  id bigint generated always as identity primary key,
  person_id bigint not null references people on delete cascade,
  name text not null,
  -- SHA-256 of a password with 144 random bits
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz not null
);
create index sftp_passwords_person on sftp_passwords (person_id);
create trigger sftp_passwords_access after delete or update of expires_at on sftp_passwords
  for each row execute function access_changed();
