import {
  createKey,
  findOrganisation,
  generateSecret,
  type KeyView,
  listKeys,
  listOrganisations,
  revokeKey,
} from '@portcullis/control/access/index.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { Problem } from '@portcullis/control/problem.ts';
import { withDatabase } from '../database.ts';
import { failed, usageError } from '../exit.ts';
import { print, printJson, printTable, warn } from '../output.ts';
import type { CreateKeyOptions, KeysOptions } from '../program/keys.ts';
import { operator } from '../up/first-start.ts';

export async function generateKey(options: KeysOptions): Promise<void> {
  const key = generateSecret();
  if (options.json === true) printJson({ key });
  else print(key);
}

export async function createKeyCommand(options: CreateKeyOptions): Promise<void> {
  const expiresAt = parseExpiry(options.expires);
  const created = await withDatabase(options, async (db) => {
    const organisationId = await organisationOf(db, options.organisation);
    const key = {
      organisationId,
      name: options.name,
      abilities: options.ability,
      servers: options.server ?? null,
      managedServers: options.manageServer ?? null,
      prefixes: options.prefix ?? null,
      sources: options.source ?? null,
      expiresAt,
      owner: 'portal' as const,
    };
    return inWords(() => db.transaction().execute((tx) => createKey(tx, key, operator())));
  });
  if (options.json === true) {
    printJson({ id: created.id, name: created.name, key: created.secret });
    return;
  }
  print(created.secret);
  warn('This is the only time that this key is shown.');
}

export async function listKeysCommand(options: KeysOptions): Promise<void> {
  const keys = await withDatabase(options, async (db) => {
    const slug = options.organisation;
    if (slug !== undefined) await organisationOf(db, slug);
    const organisations = await listOrganisations(db);
    const wanted = organisations.filter((one) => slug === undefined || one.slug === slug);
    const lists = await Promise.all(
      wanted.map(async (one) => (await listKeys(db, one.id)).map((key) => toView(one.slug, key))),
    );
    return lists.flat();
  });
  if (options.json === true) {
    printJson(keys);
    return;
  }
  if (keys.length === 0) print('No keys.');
  else {
    const rows = keys.map((key) => [
      String(key.id),
      key.organisation,
      key.name,
      `${key.hint}...`,
      key.abilities.join(' '),
      stateOf(key),
      key.last_used_at ?? 'never',
    ]);
    await printTable(
      ['ID', 'ORGANISATION', 'NAME', 'KEY', 'ABILITIES', 'STATE', 'LAST USED'],
      rows,
    );
  }
}

export async function revokeKeyCommand(id: string, options: KeysOptions): Promise<void> {
  const keyId = /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null;
  if (keyId === null)
    throw usageError(`${id} is not the number of a key: portcullis keys list shows them`);
  const { revokedAt } = await withDatabase(options, (db) =>
    inWords(() => db.transaction().execute((tx) => revokeKey(tx, keyId, operator()))),
  );
  const revoked_at = revokedAt.toISOString();
  if (options.json === true) printJson({ id: keyId, revoked_at });
  else print(`Key ${keyId} is revoked since ${revoked_at}.`);
}

interface ListedKey {
  readonly id: number;
  readonly organisation: string;
  readonly name: string;
  readonly hint: string;
  readonly abilities: readonly string[];
  readonly owner: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
}

function toView(organisation: string, key: KeyView): ListedKey {
  const { id, name, hint, abilities, owner } = key;
  return {
    id,
    organisation,
    name,
    hint,
    abilities,
    owner,
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}

function stateOf(key: ListedKey): string {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) > Date.now() ? `until ${key.expires_at}` : 'expired';
}

async function organisationOf(db: Db, slug: string): Promise<number> {
  const found = await findOrganisation(db, slug);
  if (found !== null) return found.id;
  const known = (await listOrganisations(db)).map((one) => one.slug);
  throw failed(`there is no organisation ${slug}; there are: ${known.join(', ') || 'none'}`);
}

function parseExpiry(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const withOffset = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const at = new Date(text);
  if (withOffset && !Number.isNaN(at.getTime())) return at;
  throw usageError(`--expires ${text} is not a time with an offset such as 2027-01-01T00:00:00Z`);
}

/** A refusal of control, with each of its reasons. */
async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const reasons = (error.errors ?? []).map((one) => {
      const place = 'pointer' in one ? one.pointer : one.parameter;
      return `${place}: ${one.detail}`;
    });
    throw failed([error.detail, ...reasons].join('\n'));
  }
}
