import { NODE, type NodeObject } from '@portcullis/contract/schemas/declared/node.ts';
import { countOf } from '@portcullis/core/count.ts';
import { sql } from 'kysely';
import { lockClause, noteLock } from '../../db/locks.ts';
import { defineKind } from '../kind.ts';
import { kindTable } from '../table.ts';

interface Facts {
  readonly servers: number;
  /** The servers that were made by hand. */
  readonly madeByHand: number;
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
    sftp_host: 'text',
  },
  facts: {
    servers: sql`(select count(*) from game_servers s where s.node_id = nodes.id)`,
    madeByHand: sql`(select count(*) from game_servers s where s.node_id = nodes.id and s.owner = 'portal')`,
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
  remove: ({ tx }, many) => table.delete(tx, many),
  summary: ({ name }) => `it is let in once it is enrolled: portcullis nodes enrol ${name}`,
  hindrance: ({ object: { name }, facts: { servers } }) =>
    servers > 0 ? `The node ${name} has game servers: move them first.` : null,
  holds: ({ facts: { madeByHand } }) => (madeByHand > 0 ? countOf(madeByHand, 'server') : null),
});
