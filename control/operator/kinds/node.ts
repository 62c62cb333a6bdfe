import { NODE, type NodeObject } from '@portcullis/contract/schemas/declared/node.ts';
import { countOf } from '@portcullis/core/count.ts';
import { sql } from 'kysely';
import { lockClause, noteLock } from '../../db/locks.ts';
import type { Tx } from '../../db/database.ts';
import { conflict } from '../../problem.ts';
import { defineKind, type Refuse, type Wanted } from '../kind.ts';
import { kindTable } from '../table.ts';

interface Facts {
  readonly servers: number;
  /** The servers that were made by hand. */
  readonly madeByHand: number;
  /** The mounts of those. */
  readonly mountsByHand: readonly { readonly server: string; readonly mount: string }[];
}

const table = kindTable<NodeObject, Facts>({
  table: 'nodes',
  key: 'name',
  columns: {
    name: 'text',
    memory: ['memory_mib', 'bigint'],
    disk: ['disk_mib', 'bigint'],
    addresses: 'inet[]',
    ports: ['given_ports', 'text'],
    mounts: 'jsonb',
    keep_days: 'integer',
    sftp_host: 'text',
  },
  facts: {
    servers: sql`(select count(*) from game_servers s where s.node_id = nodes.id)`,
    madeByHand: sql`(select count(*) from game_servers s where s.node_id = nodes.id and s.owner = 'portal')`,
    mountsByHand: sql`(
      select coalesce(jsonb_agg(jsonb_build_object('server', s.name, 'mount', m) order by s.name, m), '[]')
        from game_servers s, unnest(s.mounts) m where s.node_id = nodes.id and s.owner = 'portal')`,
  },
});

/** A game host. */
export const node = defineKind<typeof NODE, NodeObject, Facts>(NODE, {
  place: '/nodes/*',
  key: ({ name }) => name,
  refersTo: [],
  load: table.load,
  adopt: table.adopt,
  /** Locks the row, so that no server is placed on a node that is removed. */
  async lock(tx, name) {
    noteLock(tx, 'nodes');
    await sql`select from nodes where name = ${name} ${lockClause('update')}`.execute(tx);
  },
  save: (batch, many) =>
    table.upsert(
      batch,
      many.map(({ object }) => object),
    ),
  check: checkMounts,
  checkStored(nodes, _others, refuse, matched) {
    for (const [index, { object, facts }] of matched) {
      const names = nodes[index]?.mounts.map(({ name }) => name) ?? [];
      // One that is gone already was taken by an older version.
      const taken = object.mounts.map(({ name }) => name).filter((name) => !names.includes(name));
      const used = facts.mountsByHand.find(({ mount }) => taken.includes(mount));
      if (used !== undefined) refuse(index, describeUsed(used));
    }
  },
  admit: requireUnusedMounts,
  remove: ({ tx }, many) => table.delete(tx, many),
  summary: ({ name }) => `it is let in once it is enrolled: portcullis nodes enrol ${name}`,
  hindrance: ({ object: { name }, facts: { servers } }) =>
    servers > 0 ? `The node ${name} has game servers: move them first.` : null,
  holds: ({ facts: { madeByHand } }) => (madeByHand > 0 ? countOf(madeByHand, 'server') : null),
});

/** Targets that a container has already. */
const TAKEN = ['/home/container', '/tmp', '/proc', '/sys', '/dev', '/etc/passwd', '/etc/group'];

function checkMounts({ mounts }: NodeObject, refuse: Refuse): void {
  const seen = new Set<string>();
  for (const [index, { name, target }] of mounts.entries()) {
    const at = `/mounts/${index}`;
    if (seen.has(name)) refuse(`${at}/name`, `The mount ${name} is here twice.`);
    seen.add(name);
    const isOfKernel = /^\/(?:proc|sys|dev)\//.test(target);
    if (!isOfKernel && !TAKEN.includes(target)) continue;
    refuse(`${at}/target`, `A container has a ${target} of its own: choose another place.`);
  }
}

/** Throws 422 for a mount that is taken away from servers. */
async function requireUnusedMounts(tx: Tx, { object }: Wanted<NodeObject>): Promise<void> {
  const names = object.mounts.map(({ name }) => name);
  const { rows } = await sql<{ server: string; mount: string }>`
    select s.name as server, mount
      from game_servers s join nodes n on n.id = s.node_id, unnest(s.mounts) as mount
     where n.name = ${object.name} and mount <> all(${names}::text[]) order by 1, 2 limit 1`.execute(
    tx,
  );
  const [used] = rows;
  if (used === undefined) return;
  throw conflict(describeUsed(used), '/mounts');
}

function describeUsed({ server, mount }: Facts['mountsByHand'][number]): string {
  return `The server ${server} has the mount ${mount}: take it from there first.`;
}
