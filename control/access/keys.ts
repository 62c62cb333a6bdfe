import { hash, randomInt } from 'node:crypto';
import { ABILITIES, flagOf, OPERATOR_ABILITIES } from '@portcullis/core/access/abilities.ts';
import {
  BASE62,
  formatKey,
  KEY_BODY_LENGTH,
  KEY_PREFIX,
  parseKey,
} from '@portcullis/core/access/key-format.ts';
import { formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Tx } from '../db/database.ts';
import { constraintOf } from '../db/failure.ts';
import { type FieldError, Problem } from '../problem.ts';
import { type Actor, recordAudit, recordAudits } from './audit.ts';
import {
  insertKeys,
  type KeyChange,
  lockOrganisations,
  markRevoked,
  type NewKey,
  type NewKeyRow,
  notifyAccess,
  updateKeys,
} from './key-store.ts';

export interface CreatedKey {
  readonly id: number;
  readonly name: string;
  /** The whole key, returned this once. */
  readonly secret: string;
}

const HINT_LENGTH = 6;
const MAX_NAME_LENGTH = 100;
const MAX_ENTRIES = 1_000;
const CONTROL_CHARACTER = /\p{Cc}/u;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A new key: 40 characters of 62, 238 bits. Stores nothing. */
export function generateSecret(): string {
  const characters = Array.from({ length: KEY_BODY_LENGTH }, () =>
    BASE62.charAt(randomInt(BASE62.length)),
  );
  return formatKey(characters.join(''));
}

/** The stored hash of a key. Plain SHA-256 suffices, because 238 random bits cannot be guessed. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Creates a key; 422 `invalid_request` if the organisation may not have it. */
export async function createKey(tx: Tx, input: NewKey, actor: Actor): Promise<CreatedKey> {
  const [created] = await createKeys(tx, [input], actor);
  if (created === undefined) throw new Error('an insert returned no row');
  return created;
}

/** Creates keys, or none; 422 as `createKey`, for the first that an organisation may not have. */
export async function createKeys(
  tx: Tx,
  inputs: readonly NewKey[],
  actor: Actor,
): Promise<CreatedKey[]> {
  const created = await storeKeys(tx, inputs);
  const entries = inputs.map(({ organisationId, name, abilities }, at) => ({
    organisationId,
    action: 'key.create',
    target: `key:${created[at]?.id}`,
    detail: { name, abilities },
  }));
  await recordAudits(tx, actor, entries);
  await notifyAccess(tx);
  return created;
}

/** Creates keys as `createKeys`, for a writer that audits and notifies by itself. */
export async function storeKeys(tx: Tx, inputs: readonly NewKey[]): Promise<CreatedKey[]> {
  if (inputs.length === 0) return [];
  await requireAll(tx, inputs, 'made');
  const made = inputs.map((input) => ({ input, secret: input.secret ?? generateSecret() }));
  const ids = await insertKeys(tx, made.map(rowOf)).catch((error: unknown) => {
    throw explainConflict(error, inputs[0]?.name ?? '', 'made');
  });
  return made.map(({ input: { name }, secret }, at) => ({
    id: ids[at] ?? 0,
    name,
    secret,
  }));
}

/** Changes keys, which are not suspended any more then. A key without a secret keeps the one that it has. */
export async function changeKeys(
  tx: Tx,
  inputs: readonly (NewKey & { readonly id: number })[],
): Promise<void> {
  if (inputs.length === 0) return;
  await requireAll(tx, inputs, 'changed');
  const changes = inputs.map((input): KeyChange => {
    const { hash: newHash, hint, ...row } = rowOf({ input, secret: input.secret ?? '' });
    const isKept = input.secret === undefined;
    return { ...row, id: input.id, hash: isKept ? null : newHash, hint: isKept ? null : hint };
  });
  await updateKeys(tx, changes).catch((error: unknown) => {
    throw explainConflict(error, inputs[0]?.name ?? '', 'changed');
  });
}

type Verb = 'made' | 'changed';

async function requireAll(tx: Tx, inputs: readonly NewKey[], verb: Verb): Promise<void> {
  const flags = await lockOrganisations(
    tx,
    inputs.map(({ organisationId }) => organisationId),
  );
  for (const input of inputs) {
    const { organisationId } = input;
    requirePossible(input, organisationId === null ? null : flags.get(organisationId), verb);
  }
}

function requirePossible(
  input: NewKey,
  flags: readonly string[] | null | undefined,
  verb: Verb,
): void {
  if (flags === undefined) throw new Problem('not_found', 'There is no such organisation.');
  const errors = mistakesOf(input, flags, verb);
  if (errors.length === 0) return;
  const [only, ...others] = errors.map(
    (error) => `${'pointer' in error ? error.pointer.slice(1) : error.parameter} ${error.detail}`,
  );
  const detail = others.length > 0 ? '; errors says why.' : `: its ${only}.`;
  throw new Problem('invalid_request', `The key cannot be ${verb}${detail}`, { errors });
}

function rowOf({ input, secret }: { readonly input: NewKey; readonly secret: string }): NewKeyRow {
  const { organisationId, name, abilities, owner } = input;
  return {
    organisationId,
    name,
    abilities,
    owner,
    hash: hashSecret(secret),
    hint: secret.slice(KEY_PREFIX.length, KEY_PREFIX.length + HINT_LENGTH),
    servers: input.servers ?? null,
    managedServers: input.managedServers ?? null,
    prefixes: canonicalCidrs(input.prefixes),
    sources: canonicalCidrs(input.sources),
    expiresAt: input.expiresAt ?? null,
  };
}

/** Revokes permanently; a repetition changes nothing. 404 if there is no such key. */
export async function revokeKey(tx: Tx, keyId: number, actor: Actor): Promise<{ revokedAt: Date }> {
  const revoked = await markRevoked(tx, keyId);
  if (revoked === null) throw new Problem('not_found', `There is no key ${keyId}.`);
  const { organisationId, name, revokedAt, first } = revoked;
  if (first) {
    const target = `key:${keyId}`;
    await recordAudit(tx, {
      actor,
      organisationId,
      action: 'key.revoke',
      target,
      detail: { name },
    });
    await notifyAccess(tx);
  }
  return { revokedAt };
}

/** The names of the interface and of this code. */
const LISTS = [
  ['servers', 'servers'],
  ['managed_servers', 'managedServers'],
  ['prefixes', 'prefixes'],
  ['sources', 'sources'],
] as const;

/** `flags`: null for a key of the operator. */
function mistakesOf(input: NewKey, flags: readonly string[] | null, verb: Verb): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (pointer: string, detail: string) => errors.push({ pointer, detail });
  if (input.name === '' || Array.from(input.name).length > MAX_NAME_LENGTH) {
    refuse('/name', `must have 1 to ${MAX_NAME_LENGTH} characters`);
  }
  if (CONTROL_CHARACTER.test(input.name)) refuse('/name', 'must not have control characters');
  if (input.abilities.length === 0) refuse('/abilities', 'must name at least one ability');
  for (const [index, ability] of input.abilities.entries()) {
    const reason = abilityMistake(ability, input.abilities.indexOf(ability) < index, flags);
    if (reason !== null) refuse(`/abilities/${index}`, reason);
  }
  for (const [field, of] of LISTS) {
    const entries = input[of] ?? [];
    if (flags === null && field !== 'sources' && input[of]) {
      refuse(
        `/${field}`,
        'is for keys of organisations: a key of the operator is bound to sources only',
      );
    }
    if (entries.length > MAX_ENTRIES) refuse(`/${field}`, `must have at most ${MAX_ENTRIES} items`);
    for (const [index, entry] of entries.slice(0, MAX_ENTRIES).entries()) {
      const reason = field.endsWith('servers') ? uuidMistake(entry) : cidrMistake(entry);
      if (reason !== null) refuse(`/${field}/${index}`, reason);
    }
  }
  // A past moment ends a key that there is.
  if (verb === 'made' && input.expiresAt && !(input.expiresAt.getTime() > Date.now())) {
    refuse('/expires_at', 'must be in the future');
  }
  if (input.secret !== undefined) {
    const parsed = parseKey(input.secret);
    if (!parsed.ok)
      refuse('/secret', `${parsed.reason}; "portcullis keys generate" prints a good one`);
  }
  return errors;
}

function abilityMistake(
  ability: string,
  repeated: boolean,
  flags: readonly string[] | null,
): string | null {
  const names: readonly string[] = flags === null ? OPERATOR_ABILITIES : ABILITIES;
  if (!names.includes(ability)) return `is no ability; there are ${names.join(', ')}`;
  if (repeated) return `is named twice: ${ability}`;
  const known = ABILITIES.find((each) => each === ability);
  if (known === undefined || flags === null) return null;
  const flag = flagOf(known);
  if (flag === null || flags.includes(flag)) return null;
  return `cannot be granted: ${ability} needs ${flag}, which is not enabled for the organisation`;
}

function uuidMistake(text: string): string | null {
  return UUID.test(text) ? null : 'must be a uuid';
}

function cidrMistake(text: string): string | null {
  const parsed = parseCidr(text);
  return parsed.ok ? null : parsed.reason;
}

function canonicalCidrs(list: readonly string[] | null | undefined): string[] | null {
  if (list === null || list === undefined) return null;
  return list.flatMap((text) => {
    const parsed = parseCidr(text);
    return parsed.ok ? [formatCidr(parsed.value)] : [];
  });
}

/** A secret is never accepted twice: a revoked key cannot return under another name. */
function explainConflict(error: unknown, name: string, verb: Verb): unknown {
  const constraint = constraintOf(error);
  const [pointer, detail] =
    constraint === 'api_keys_secret_hash_key'
      ? ['/secret', 'belongs to another key already, or to a revoked one']
      : constraint === 'api_keys_fleet_name'
        ? ['/name', `is taken by another key of the fleet file: ${name}`]
        : [null, ''];
  if (pointer === null) return error;
  const errors = [{ pointer, detail }];
  return new Problem(
    'invalid_request',
    `The key cannot be ${verb}: its ${pointer.slice(1)} ${detail}.`,
    {
      errors,
      cause: error,
    },
  );
}
