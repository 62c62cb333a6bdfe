import { createKey, keyActor, listKeys, type NewKey, revokeKey } from '../../access/index.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import { Problem } from '../../problem.ts';
import { viewOf } from '../../http/operations/view.ts';

export type KeyHandlers = Pick<Handlers, 'listKeys' | 'createKey' | 'revokeKey' | 'readCaller'>;

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
    async revokeKey(call, tx) {
      const { key: id } = call.params;
      const keys = await listKeys(tx, call.by.organisationId);
      if (!keys.some((key) => key.id === id)) {
        throw new Problem('not_found', `There is no key ${id}.`);
      }
      const { revokedAt } = await revokeKey(tx, id, keyActor(call));
      call.endsRights(id);
      return { status: 200, body: { data: viewOf({ id, revokedAt }) } };
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
