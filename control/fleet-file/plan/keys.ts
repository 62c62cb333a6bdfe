import { createHash } from 'node:crypto';
import type { DesiredKey } from '../desired.ts';
import type { CurrentKey } from '../state/state.ts';
import { describeDifferences, PlanDraft } from './draft.ts';

export function planKeys(draft: PlanDraft): void {
  const byName = new Map<string, CurrentKey>();
  for (const row of draft.state.keys) {
    // A revoked key of the portal leaves its name free.
    if (row.revoked && row.owner === 'portal') continue;
    const name = `${draft.slugOf(row.organisationId)} ${row.name}`;
    if (!byName.has(name)) byName.set(name, row);
  }
  const byHash = new Map(draft.state.keys.map((row) => [row.hash, row]));
  const wanted = new Set<CurrentKey>();
  for (const { slug, keys } of draft.organisations) {
    for (const key of keys) {
      const row = byName.get(`${slug} ${key.name}`);
      if (row !== undefined) wanted.add(row);
      const holder = key.secret === null ? undefined : byHash.get(hashHex(key.secret));
      if (row?.owner === 'portal') draft.refusePortal(key.at, `The key ${key.name}`);
      else if (holder !== undefined && holder !== row) {
        const message = `The secret of ${key.name} is that of another key, or was; make a new one.`;
        draft.refuse(key.at, message);
      } else planKey(draft, slug, row, key);
    }
  }
  for (const row of draft.state.keys) {
    if (row.owner !== 'fleet' || row.revoked || row.suspended || wanted.has(row)) continue;
    const organisation = draft.slugOf(row.organisationId);
    const subject = `key ${row.name} (${organisation})`;
    const words = 'suspended until the file names it again';
    draft.lose(
      PlanDraft.fileStart,
      `${subject} is not in the file: whoever uses it would be refused.`,
    );
    draft.add({ do: 'key.suspend', sign: '-', subject, words, id: row.id, organisation });
  }
}

function planKey(
  draft: PlanDraft,
  organisation: string,
  row: CurrentKey | undefined,
  key: DesiredKey,
): void {
  const subject = `key ${key.name} (${organisation})`;
  if (row?.revoked) {
    draft.note(
      `${subject} was revoked and stays so: take it out of the file, or choose another name`,
    );
    return;
  }
  const change = { subject, key, organisation };
  if (row === undefined) {
    if (key.expiresAt !== null && key.expiresAt <= draft.state.now) {
      draft.note(`${subject} is not made: it would have expired already`);
      return;
    }
    const secret = key.secret === null ? ', its secret is made and shown once' : '';
    const words = `${key.abilities.join(', ')}${secret}`;
    draft.add({ do: 'key.create', sign: '+', words, ...change }, key.at);
    return;
  }
  const differences = describeDifferences(
    { ...comparable(row), suspended: row.suspended },
    { ...comparable(key), suspended: false },
  );
  const replaced = key.secret !== null && hashHex(key.secret) !== row.hash;
  const parts = [differences, replaced ? 'another secret: the old one stops working' : ''];
  const words = parts.filter((part) => part !== '').join(', ');
  if (words === '') return;
  draft.add({ do: 'key.update', sign: '~', words, id: row.id, ...change }, key.at);
}

function comparable(
  key: Omit<DesiredKey, 'at' | 'secret' | 'abilities'> & { readonly abilities: readonly string[] },
) {
  return {
    abilities: key.abilities.toSorted(),
    servers: sortedOrAll(key.servers),
    manage_servers: sortedOrAll(key.managedServers),
    prefixes: sortedOrAll(key.prefixes),
    sources: sortedOrAll(key.sources),
    expires_at: key.expiresAt,
  };
}

function sortedOrAll(list: readonly string[] | null): string | string[] {
  return list === null ? 'all' : list.toSorted();
}

function hashHex(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
