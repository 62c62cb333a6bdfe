import { createKey, keyActor, listKeys, revokeKey } from '../access/index.ts';
import type { Call } from '../http/operations/operation.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { pathId } from '../http/operations/not-found.ts';
import { Problem } from '../problem.ts';
import { viewOf } from '../http/operations/view.ts';

export type KeyHandlers = Pick<Handlers, 'listKeys' | 'createKey' | 'revokeKey' | 'readCaller'>;

export function createKeyHandlers(): KeyHandlers {
  return {
    async readCaller(call) {
      return { status: 200, body: { data: callerView(call) } };
    },
    async listKeys(call, db) {
      const keys = await listKeys(db, call.caller.organisationId);
      return { status: 200, body: { data: keys.map(viewOf) } };
    },
    async createKey(call, tx) {
      const { name, abilities, servers, managed_servers, prefixes, sources, expires_at } =
        call.body;
      const key = {
        organisationId: call.caller.organisationId,
        name,
        abilities,
        servers: servers ?? null,
        managedServers: managed_servers ?? null,
        prefixes: prefixes ?? null,
        sources: sources ?? null,
        expiresAt: expires_at === null || expires_at === undefined ? null : new Date(expires_at),
        owner: 'portal' as const,
      };
      const data = await createKey(tx, key, keyActor(call));
      // The secret must be in no cache.
      return { status: 201, body: { data }, headers: { 'cache-control': 'no-store' } };
    },
    async revokeKey(call, tx) {
      const id = pathId(call, 'key');
      const keys = await listKeys(tx, call.caller.organisationId);
      if (!keys.some((key) => key.id === id)) {
        throw new Problem('not_found', `There is no key ${id}.`);
      }
      const { revokedAt } = await revokeKey(tx, id, keyActor(call));
      return { status: 200, body: { data: viewOf({ id, revokedAt }) } };
    },
  };
}

function callerView({ caller, source }: Pick<Call, 'caller' | 'source'>) {
  const { organisation, keyName: key, abilities, prefixes, servers } = caller;
  return {
    organisation: organisation.slug,
    organisation_name: organisation.name,
    key,
    abilities: [...abilities].toSorted(),
    flags: [...organisation.flags].toSorted(),
    prefixes: prefixes && [...prefixes],
    servers: servers && [...servers],
    requests_per_minute: organisation.limits.requestsPerMinute,
    source_ip: source,
  };
}
