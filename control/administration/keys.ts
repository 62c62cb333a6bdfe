import {
  type Actor,
  createKey,
  keyActor,
  listKeys,
  type NewKey,
  operatorActor,
  revokeKey,
} from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import type { Answer } from '../http/operations/operation.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { Problem } from '../problem.ts';
import { viewOf } from '../http/operations/view.ts';
import { requireOrganisation } from './organisations.ts';

export type KeyHandlers = Pick<
  Handlers,
  | 'listKeys'
  | 'createKey'
  | 'revokeKey'
  | 'readCaller'
  | 'listOrganisationKeys'
  | 'createOrganisationKey'
  | 'revokeOrganisationKey'
>;

export function createKeyHandlers(): KeyHandlers {
  return {
    async readCaller(call) {
      return { status: 200, body: { data: callerView(call) } };
    },
    async listKeys(call, db) {
      const keys = await listKeys(db, call.by.organisationId);
      return { status: 200, body: { data: keys.map(viewOf) } };
    },
    async createKey(call, tx) {
      const wanted = newKeyOf(call.body, call.by.organisationId);
      const data = await createKey(tx, wanted, keyActor(call));
      return { status: 201, body: { data }, headers: NO_STORE };
    },
    revokeKey: (call, tx) => revoke(call, tx, call.by.organisationId, keyActor(call)),
    async listOrganisationKeys(call, db) {
      const { id } = await requireOrganisation(db, call.params.slug);
      return { status: 200, body: { data: (await listKeys(db, id)).map(viewOf) } };
    },
    async createOrganisationKey(call, tx) {
      const { id } = await requireOrganisation(tx, call.params.slug);
      const data = await createKey(tx, newKeyOf(call.body, id), operatorActor(call));
      const remembered = { data: { ...data, secret: null } };
      return { status: 201, body: { data }, remembered, headers: NO_STORE };
    },
    async revokeOrganisationKey(call, tx) {
      const { id } = await requireOrganisation(tx, call.params.slug);
      return revoke(call, tx, id, operatorActor(call));
    },
  };
}

/** A secret must be in no cache. */
const NO_STORE = { 'cache-control': 'no-store' } as const;

function newKeyOf(body: CallOf<'createKey'>['body'], organisationId: number): NewKey {
  const { name, abilities, servers, managed_servers, prefixes, sources, expires_at } = body;
  return {
    organisationId,
    name,
    abilities,
    servers: servers ?? null,
    managedServers: managed_servers ?? null,
    prefixes: prefixes ?? null,
    sources: sources ?? null,
    expiresAt: expires_at === null || expires_at === undefined ? null : new Date(expires_at),
    owner: 'portal',
  };
}

async function revoke(
  call: Pick<CallOf<'revokeKey' | 'revokeOrganisationKey'>, 'params' | 'endsRights'>,
  tx: Tx,
  organisationId: number,
  actor: Actor,
): Promise<Answer> {
  const { key: id } = call.params;
  const keys = await listKeys(tx, organisationId);
  if (!keys.some((key) => key.id === id)) {
    throw new Problem('not_found', `There is no key ${id}.`);
  }
  const { revokedAt } = await revokeKey(tx, id, actor);
  call.endsRights(id);
  return { status: 200, body: { data: viewOf({ id, revokedAt }) } };
}

function callerView({ by, source }: CallOf<'readCaller'>) {
  const { organisation, abilities, prefixes, servers } = by;
  return {
    organisation: organisation.slug,
    organisation_name: organisation.name,
    key: by.kind === 'key' ? by.keyName : by.person.email,
    abilities: [...abilities].toSorted(),
    flags: [...organisation.flags].toSorted(),
    prefixes: prefixes && [...prefixes],
    servers: servers && [...servers],
    requests_per_minute: organisation.limits.requestsPerMinute,
    source_ip: source,
  };
}
