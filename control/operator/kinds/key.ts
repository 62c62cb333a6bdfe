import {
  type KeyObject,
  ORGANISATION_KEY,
} from '@portcullis/contract/schemas/declared/organisation-key.ts';
import { ABILITIES, flagOf } from '@portcullis/core/access/abilities.ts';
import { KEY_PREFIX, parseKey } from '@portcullis/core/access/key-format.ts';
import { sql } from 'kysely';
import {
  adoptKeys,
  changeKeys,
  hashSecret,
  type NewKey,
  revokeKeys,
  storeKeys,
  suspendKeys,
} from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import type { Batch } from '../../fleet/batch.ts';
import { timeView } from '../../http/operations/view.ts';
import { sentence } from '../forms.ts';
import {
  APPENDED,
  type Current,
  defineKind,
  type FileEntry,
  type FilePart,
  type OnMade,
  type Refuse,
  type Wanted,
  type Written,
} from '../kind.ts';
import { kindTable, named } from '../table.ts';

interface KeyFacts {
  /** Hexadecimal. */
  readonly hash: string;
  readonly hint: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** When it left the file, with which it comes back. */
  readonly suspendedAt: Date | null;
}

type StoredKey = Current<KeyObject, KeyFacts>;

const table = kindTable<KeyObject, KeyFacts>({
  table: 'api_keys',
  key: 'id',
  columns: {
    organisation: named('organisation_id', 'organisations', 'slug'),
    id: 'bigint',
    name: 'text',
    abilities: 'text[]',
    servers: 'uuid[]',
    managed_servers: 'uuid[]',
    prefixes: 'cidr[]',
    sources: 'cidr[]',
    expires_at: 'timestamptz',
    /** The hash alone is stored. */
    secret: {
      column: 'secret_hash',
      type: 'text',
      read: () => sql`null::text`,
      write: (value) => value,
    },
  },
  facts: {
    hash: sql`encode(secret_hash, 'hex')`,
    hint: sql`${KEY_PREFIX} || hint`,
    createdAt: sql`created_at`,
    lastUsedAt: sql`last_used_at`,
    revokedAt: sql`revoked_at`,
    suspendedAt: sql`suspended_at`,
  },
});

/** An API key of an organisation. A file names it by its name, which those that are made by hand may share. */
export const key = defineKind<typeof ORGANISATION_KEY, KeyObject, KeyFacts>(ORGANISATION_KEY, {
  place: findKeyEntries,
  write: (many) => many.map(writeKey),
  key: ({ id, organisation, name }) => (id > 0 ? String(id) : `${organisation} ${name}`),
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
  ],
  check({ secret }, refuse) {
    const parsed = secret === null ? null : parseKey(secret);
    if (parsed === null || parsed.ok) return;
    // Never quotes the secret.
    const reason = sentence(parsed.reason).replace(/\.$/, '');
    const hint = '"portcullis keys generate" prints a good one';
    refuse('/secret', `This is no key: ${reason}; ${hint}.`);
  },
  clash: ({ name }) => `The key ${name} is here twice.`,
  checkAll: refuseSharedSecrets,
  match: matchKeys,
  checkStored: refuseUsedSecrets,
  omits: describeOmission,
  inherit: (object, before) => ({ ...object, id: before?.id ?? 0 }),
  load: loadKeys,
  adopt: adoptKeys,
  save: saveKeys,
  /** A file that no longer names it suspends it; by hand it is revoked for good. */
  async remove({ tx, owner }, many) {
    const ids = many.map(({ id }) => id);
    await (owner === 'fleet' ? suspendKeys(tx, ids) : revokeKeys(tx, ids));
  },
  isEndedByHand: true,
  isHolder: true,
  subject: ({ name, organisation }) => `key ${name} (${organisation})`,
  summary: ({ abilities, secret }) =>
    abilities.join(', ') + (secret === null ? ', its secret is made and shown once' : ''),
  shown: ({ name, abilities, servers, managed_servers: managed, prefixes, sources, ...rest }) => ({
    name,
    abilities: abilities.toSorted(),
    servers: sortedOrAll(servers),
    manage_servers: sortedOrAll(managed),
    prefixes: sortedOrAll(prefixes),
    sources: sortedOrAll(sources),
    expires_at: rest.expires_at,
  }),
  further: ({ facts: { hash, suspendedAt } }, { secret }) => [
    ...(suspendedAt === null ? [] : ['suspended true -> false']),
    ...(secret === null || hashOf(secret) === hash
      ? []
      : ['another secret: the old one stops working']),
  ],
  obstacle: ({ object: { name }, facts: { revokedAt } }) =>
    revokedAt === null ? null : `The key ${name} was revoked for good: make another.`,
  hindrance: ({ object: { name }, facts: { revokedAt } }) =>
    revokedAt === null ? null : `The key ${name} was revoked already.`,
  isEnded: ({ facts: { revokedAt, suspendedAt } }) => revokedAt !== null || suspendedAt !== null,
  ending: () => 'suspended until the file names it again',
  losses: ({ before: { object }, after, byHand }) =>
    after === null && !byHand
      ? [
          `key ${object.name} (${object.organisation}) is not in the file: requests with it would be refused.`,
        ]
      : [],
  view: (object) => ({ ...object, secret: null }),
  beside: {
    show: ({ hint, createdAt, lastUsedAt, revokedAt, suspendedAt }) => ({
      hint,
      created_at: timeView(createdAt),
      last_used_at: lastUsedAt && timeView(lastUsedAt),
      revoked_at: revokedAt && timeView(revokedAt),
      suspended_at: suspendedAt && timeView(suspendedAt),
    }),
  },
});

function sortedOrAll(list: readonly string[] | null): string | string[] {
  return list === null ? 'all' : list.toSorted();
}

function hashOf(secret: string): string {
  return hashSecret(secret).toString('hex');
}

/** Keys of organisations; those of the operator are made by a command only. */
async function loadKeys(
  db: Db | Tx,
  keys?: readonly string[],
  organisation?: string,
): Promise<StoredKey[]> {
  const rows = await table.load(db, keys, organisation);
  return rows.filter(({ object }) => object.organisation !== null);
}

async function saveKeys(
  { tx, owner }: Batch,
  many: readonly Wanted<KeyObject, KeyFacts>[],
  made: OnMade,
): Promise<void> {
  const slugs = many.map(({ object: { organisation } }) => organisation);
  const { rows } = await sql<{ id: number; slug: string }>`
    select id, slug from organisations where slug = any(${slugs}::text[])`.execute(tx);
  const ids = new Map(rows.map(({ id, slug }) => [slug, id]));
  const wanted = many.map(({ object, before }, index) => {
    const organisationId = ids.get(object.organisation) ?? 0;
    return { index, before, input: inputOf(object, organisationId, owner) };
  });
  const created = wanted.filter(({ before }) => before === null);
  const stored = await storeKeys(
    tx,
    created.map(({ input }) => input),
  );
  for (const [at, { index, input }] of created.entries()) {
    const { id = 0, secret = null } = stored[at] ?? {};
    made(index, { key: String(id), secret: input.secret === undefined ? secret : null });
  }
  await changeKeys(
    tx,
    wanted.flatMap(({ before, input }) => (before === null ? [] : [{ ...input, id: before.id }])),
  );
}

function inputOf(object: KeyObject, organisationId: number, owner: NewKey['owner']): NewKey {
  const { managed_servers: managedServers, expires_at: expiresAt, secret, ...key } = object;
  return {
    ...key,
    organisationId,
    managedServers,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    ...(secret !== null && { secret }),
    owner,
  };
}

interface KeyText {
  readonly abilities: readonly string[];
  readonly servers?: 'all' | readonly string[];
  readonly manage_servers?: 'all' | readonly string[];
}

interface FileWithKeys {
  readonly organisations?: Readonly<
    Record<string, { readonly flags?: readonly string[]; readonly keys?: readonly KeyText[] }>
  >;
}

/** The keys of a file, where `all` is what null is elsewhere. */
function findKeyEntries({ organisations = {} }: FileWithKeys, refuse: Refuse): FileEntry[] {
  return Object.entries(organisations).flatMap(([organisation, { flags = [], keys = [] }]) =>
    keys.map(({ servers = 'all', manage_servers: managed = 'all', ...entry }, index) => {
      const pointer = `/organisations/${organisation}/keys/${index}`;
      refuseAbilities(entry.abilities, flags, (at, why) => refuse(pointer + at, why));
      const value = {
        ...entry,
        organisation,
        servers: servers === 'all' ? null : servers,
        managed_servers: managed === 'all' ? null : managed,
      };
      const items = managed === 'all' ? [] : Object.keys(managed);
      const places = items.map((at) => [`/managed_servers/${at}`, `/manage_servers/${at}`]);
      return { pointer, value, pointers: { '/id': '/name', ...Object.fromEntries(places) } };
    }),
  );
}

function writeKey(one: Written<KeyObject, KeyFacts>): FilePart {
  const { organisation: _organisation, managed_servers: managed, ...fields } = one.fields;
  const value = managed === undefined ? fields : { ...fields, manage_servers: managed };
  return { path: ['organisations', one.object.organisation, 'keys', APPENDED], value, of: [one] };
}

function refuseAbilities(
  abilities: readonly string[],
  flags: readonly string[],
  refuse: Refuse,
): void {
  for (const [index, text] of abilities.entries()) {
    const ability = ABILITIES.find((known) => known === text);
    const pointer = `/abilities/${index}`;
    if (ability === undefined) {
      refuse(pointer, `"${text}" is no ability; there are ${ABILITIES.join(', ')}.`);
      continue;
    }
    const flag = flagOf(ability);
    if (flag === null || flags.includes(flag)) continue;
    refuse(pointer, `${ability} needs the flag ${flag}, which the organisation has not.`);
  }
}

/** Refuses secrets that more than one key of a file has. */
function refuseSharedSecrets(
  objects: readonly KeyObject[],
  refuse: (index: number, ...why: Parameters<Refuse>) => void,
): void {
  const seen = new Map<string, string>();
  for (const [index, { name, organisation, secret }] of objects.entries()) {
    if (secret === null) continue;
    const other = seen.get(secret);
    seen.set(secret, other ?? organisation);
    if (other === undefined) continue;
    const why = other === organisation ? 'is used twice' : `belongs to ${other} already`;
    refuse(index, '', `The secret of the key ${name} ${why}.`);
  }
}

/** Finds the rows by name, those of the file first. A key that was revoked by hand, and was made so, leaves its name free. */
function matchKeys(
  objects: readonly KeyObject[],
  rows: readonly StoredKey[],
): ReadonlyMap<number, StoredKey> {
  const nameOf = ({ organisation, name }: KeyObject) => `${organisation} ${name}`;
  const byName = new Map<string, StoredKey>();
  const ofFile = rows.filter(({ owner }) => owner === 'fleet');
  for (const row of [...ofFile, ...rows]) {
    if (row.owner === 'portal' && row.facts.revokedAt !== null) continue;
    const name = nameOf(row.object);
    if (!byName.has(name)) byName.set(name, row);
  }
  const matched = new Map<number, StoredKey>();
  for (const [index, object] of objects.entries()) {
    const row = byName.get(nameOf(object));
    if (row !== undefined) matched.set(index, row);
  }
  return matched;
}

/** A secret is never accepted twice, also that of a revoked key. */
function refuseUsedSecrets(
  objects: readonly KeyObject[],
  others: readonly StoredKey[],
  refuse: (index: number, message: string) => void,
  matched: ReadonlyMap<number, StoredKey>,
): void {
  const byHash = new Map([...others, ...matched.values()].map((row) => [row.facts.hash, row]));
  for (const [index, { name, secret }] of objects.entries()) {
    const holder = secret === null ? undefined : byHash.get(hashOf(secret));
    if (holder === undefined || holder === matched.get(index)) continue;
    refuse(index, `The secret of ${name} is that of another key, or was; make a new one.`);
  }
}

/** Says why a file does not make a key: it is revoked, or would have expired already. */
function describeOmission(object: KeyObject, before: StoredKey | null, now: Date): string | null {
  const subject = `key ${object.name} (${object.organisation})`;
  if (before === null) {
    const isOver = object.expires_at !== null && Date.parse(object.expires_at) <= now.getTime();
    return isOver ? `${subject} is not made: it would have expired already` : null;
  }
  return before.facts.revokedAt === null
    ? null
    : `${subject} was revoked and stays so: take it out of the file, or choose another name`;
}
