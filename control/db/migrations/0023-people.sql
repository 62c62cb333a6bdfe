-- People who sign in to the portal. Nothing here holds a password, token or recovery code that could be used.
create table people (
  id bigint generated always as identity primary key,
  -- in lower case
  email text not null unique check (email = lower(email)),
  name text not null,
  -- argon2id, in PHC format
  password_hash text not null,
  is_operator boolean not null default false,
  -- 20 bytes; not in force before it is confirmed
  totp_secret bytea,
  totp_confirmed_at timestamptz,
  -- the last step of 30 s whose code was accepted, so that no code is accepted twice
  totp_last_step bigint not null default 0,
  disabled_at timestamptz,
  created_at timestamptz not null default now()
);

create table recovery_codes (
  person_id bigint not null references people on delete cascade,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);

create table passkeys (
  id bigint generated always as identity primary key,
  person_id bigint not null references people on delete cascade,
  name text not null,
  credential_id text not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys_person on passkeys (person_id);

-- Each is deleted when it is answered.
create table passkey_challenges (
  challenge text primary key,
  -- null: for a sign-in
  person_id bigint references people on delete cascade,
  expires_at timestamptz not null
);

create table members (
  organisation_id bigint not null references organisations on delete cascade,
  person_id bigint not null references people on delete cascade,
  role text not null check (role in ('read-only', 'member', 'admin', 'owner')),
  since timestamptz not null default now(),
  primary key (organisation_id, person_id)
);
create index members_person on members (person_id);

create table sessions (
  id bigint generated always as identity primary key,
  -- SHA-256 of the cookie
  token_hash bytea not null unique,
  person_id bigint not null references people on delete cascade,
  -- the organisation that an operator acts for
  acting_id bigint references organisations on delete cascade,
  source inet,
  user_agent text,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_person on sessions (person_id);
create index sessions_expiry on sessions (expires_at);

create table portal_links (
  id bigint generated always as identity primary key,
  token_hash bytea not null unique,
  kind text not null check (kind in ('operator', 'invitation', 'reset')),
  email text,
  organisation_id bigint references organisations on delete cascade,
  role text check (role in ('read-only', 'member', 'admin', 'owner')),
  person_id bigint references people on delete cascade,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  check (kind <> 'reset' or person_id is not null),
  check ((organisation_id is null) = (role is null))
);

-- Attempts on passwords and codes since the last success, by email.
create table sign_in_attempts (
  email text primary key,
  attempts integer not null,
  last_at timestamptz not null
);

-- A session has keys for requests too, under the negative id of its person.
alter table idempotency_keys drop constraint idempotency_keys_api_key_id_fkey;
