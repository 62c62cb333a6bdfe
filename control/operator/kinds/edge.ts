import { EDGE, type EdgeObject } from '@portcullis/contract/schemas/declared/edge.ts';
import { matchesDevice } from '@portcullis/core/firewall/edge-state.ts';
import { sql } from 'kysely';
import { lockClause, noteLock } from '../../db/locks.ts';
import type { Batch } from '../../fleet/batch.ts';
import { defineKind, type Wanted } from '../kind.ts';
import { kindTable } from '../table.ts';

interface Facts {
  readonly inService: boolean;
  /** The devices of its host; null if it is not connected or has not reported them. */
  readonly hostDevices: readonly string[] | null;
}

const table = kindTable<EdgeObject, Facts>({
  table: 'edges',
  key: 'name',
  columns: {
    name: 'text',
    site: 'text',
    devices: 'text[]',
    serves: 'cidr[]',
    sees: 'text',
    fragments: 'text',
    management: 'jsonb',
  },
  facts: {
    inService: sql`in_service`,
    hostDevices: sql`case when last_seen_at > statement_timestamp() - interval '60 seconds'
                          then nullif(report->'hostDevices', 'null') end`,
  },
});

/** A host that enforces. */
export const edge = defineKind<typeof EDGE, EdgeObject, Facts>(EDGE, {
  place: '/edges/*',
  key: ({ name }) => name,
  refersTo: [],
  complete: ({ name = '', site = name }) => ({ site }),
  load: table.load,
  adopt: table.adopt,
  /** Locks the row, so that an edge that is removed does not join meanwhile. */
  async lock(tx, name) {
    noteLock(tx, 'edges');
    await sql`select from edges where name = ${name} ${lockClause('update')}`.execute(tx);
  },
  async save(batch, many) {
    batch.mark();
    for (const one of many) touchServed(batch, one);
    await table.upsert(
      batch,
      many.map(({ object }) => object),
    );
  },
  /** Forgets edges and their credentials. What they enforce stays until the operator disables it on their hosts. */
  async remove(batch, many) {
    batch.mark();
    await table.delete(batch.tx, many);
  },
  summary: ({ site, devices }) => `at ${site}, ${devices.join(', ')}`,
  losses: ({ before, after, isLast }) =>
    after === null && isLast
      ? [`edge ${before.object.name} is the last one: nothing would be enforced.`]
      : [],
  hindrance: ({ object: { name }, facts: { inService } }) =>
    inService
      ? `The edge ${name} is in service: stop its agent, and wait until its lease has ended.`
      : null,
  notes: (object, current) => noteAbsentDevices(object, current?.facts.hostDevices ?? null),
});

/** Marks the prefixes that an edge gains or loses as changed, because edges fetch only what changed. */
function touchServed(batch: Batch, { object, before }: Wanted<EdgeObject>): void {
  if (before === null) return;
  const [was, wanted] = [new Set(before.object.serves), new Set(object.serves)];
  batch.touch(
    ...object.serves.filter((cidr) => !was.has(cidr)),
    ...before.object.serves.filter((cidr) => !wanted.has(cidr)),
  );
}

/** The most devices that a note names. */
const LISTED_DEVICES = 20;

/** An edge enforces nothing by a device that is not there: better read before it is applied. */
function noteAbsentDevices(
  { name, devices }: EdgeObject,
  present: readonly string[] | null,
): string[] {
  if (present === null) return [];
  const absent = devices.filter((named) => !present.some((device) => matchesDevice(named, device)));
  if (absent.length === 0) return [];
  const others = present.filter((device) => device !== 'lo').slice(0, LISTED_DEVICES);
  const nothing = absent.length === devices.length ? ', so it will enforce nothing' : '';
  return [
    `edge ${name} is connected, and its host has no device ${absent.join(', ')}${nothing}. It has: ${others.join(', ') || 'none'}.`,
  ];
}
