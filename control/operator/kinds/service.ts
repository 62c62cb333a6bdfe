import { SERVICE, type ServiceObject } from '@portcullis/contract/schemas/declared/service.ts';
import { countOf } from '@portcullis/core/count.ts';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { invalidField } from '../../problem.ts';
import { NAMED_PORT } from '../forms.ts';
import {
  APPENDED,
  defineKind,
  type FilePart,
  type FileStep,
  type Refuse,
  type Wanted,
  type Written,
} from '../kind.ts';
import { gathered, kindTable, named } from '../table.ts';
import { type Detected, fromDetected, summariseDetection, toDetected } from './detection.ts';

interface Facts {
  readonly servers: number;
  readonly serversByHand: number;
  /** Present and future ones. */
  readonly holdings: number;
  readonly holdingsByHand: number;
}

const byHand = sql`t.owner = 'portal'`;
const servers = sql`game_servers t where true`;
const holdings = sql`holdings t where (upper_inf(t.during) or upper(t.during) > now())`;

function countOwn(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const count = gathered(rows, 'service_id', sql`count(*)`);
  return sql`coalesce(${count(sql.ref('services.id'))}::integer, 0)`;
}

const table = kindTable<Detected<ServiceObject>, Facts>({
  table: 'services',
  key: 'id',
  columns: {
    organisation: named('organisation_id', 'organisations', 'slug'),
    id: 'integer',
    name: 'text',
    active: 'boolean',
    managed_filters: 'jsonb',
    detection: 'jsonb',
  },
  facts: {
    servers: countOwn(servers),
    serversByHand: countOwn(sql`${servers} and ${byHand}`),
    holdings: countOwn(holdings),
    holdingsByHand: countOwn(sql`${holdings} and ${byHand}`),
  },
});

/** A service that an organisation runs on addresses that are held for it. */
export const service = defineKind<typeof SERVICE, ServiceObject, Facts>(SERVICE, {
  place: '/organisations/{organisation}/services/*',
  write: (many) => many.map(writeService),
  key: ({ id }) => String(id),
  organisation: ({ organisation }) => organisation,
  refersTo: [
    { kind: 'organisation', pointer: '/organisation', key: ({ organisation }) => organisation },
  ],
  check: checkFilters,
  clash: ({ id, organisation }, { organisation: other }) =>
    organisation === other
      ? `The service ${id} is here twice.`
      : `The service ${id} belongs to ${other} already.`,
  admit: requirePorts,
  load: async (db, keys, slug) => (await table.load(db, keys, slug)).map(fromDetected),
  adopt: table.adopt,
  async save(batch, many) {
    await table.upsert(
      batch,
      many.map(({ object }) => toDetected(object)),
    );
    const refiltered = many.filter(isRefiltered).map(({ object: { id } }) => id);
    if (refiltered.length === 0) return;
    const { rows } = await sql<{ cidr: string }>`
      select cidr from holdings where service_id = any(${refiltered}::bigint[])`.execute(batch.tx);
    batch.touch(...rows.map(({ cidr }) => cidr));
  },
  /** Keeps one that addresses were held for, for their history. */
  async remove({ tx }, many) {
    const ids = many.map(({ id }) => id);
    await sql`
      update services set active = false
       where id = any(${ids}::bigint[]) and exists (select from holdings where service_id = services.id)`.execute(
      tx,
    );
    await sql`
      delete from services
       where id = any(${ids}::bigint[]) and not exists (select from holdings where service_id = services.id)`.execute(
      tx,
    );
  },
  subject: ({ id, organisation }) => `service ${id} (${organisation})`,
  summary: ({ name, ...settings }) => name + summariseDetection(settings),
  shown: ({ managed_filters: filters, ...object }) => ({
    ...object,
    managed_filters: filters.map(({ type, ports }) => (ports === null ? type : `${type}:${ports}`)),
  }),
  obstacle: ({ object: before }, { id, organisation }) =>
    before.organisation === organisation
      ? null
      : `The service ${id} is ${before.organisation}'s, and numbers of services are not passed on: choose another.`,
  isEnded: ({ object: { active } }, isNamed) => isNamed && !active,
  ending: (_current, isNamed) => (isNamed ? 'not active any more' : ''),
  hindrance({ object: { id }, facts }) {
    if (facts.servers > 0) return `The service ${id} has game servers: remove them first.`;
    return facts.holdings > 0 ? `The service ${id} has addresses: end them first.` : null;
  },
  holds({ facts: { serversByHand, holdingsByHand } }) {
    if (serversByHand > 0) return countOf(serversByHand, 'server');
    return holdingsByHand > 0 ? countOf(holdingsByHand, 'holding') : null;
  },
});

function checkFilters({ managed_filters: filters }: ServiceObject, refuse: Refuse): void {
  const types = new Set<string>();
  for (const [index, { type }] of filters.entries()) {
    const pointer = `/managed_filters/${index}`;
    if (!FILTERS.some((filter) => filter.type === type)) {
      const known = FILTERS.map((filter) => filter.type).join(', ');
      refuse(`${pointer}/type`, `There is no filter "${type}"; there are ${known}.`);
    }
    if (types.has(type)) refuse(`${pointer}/type`, `The filter ${type} is here twice.`);
    types.add(type);
  }
}

/** A filter on the ports of its game servers is written by its name. */
function writeService(one: Written<ServiceObject, Facts>): FilePart {
  const { organisation: _organisation, managed_filters: filters, ...fields } = one.fields;
  const managed = one.object.managed_filters.map(({ type, ports }) =>
    ports === null ? type : { type, ports },
  );
  const value = filters === undefined ? fields : { ...fields, managed_filters: managed };
  const path: FileStep[] = ['organisations', one.object.organisation, 'services', APPENDED];
  return { path, value, of: [one] };
}

/** The policies of its addresses change. */
function isRefiltered({ object, before }: Wanted<ServiceObject>): boolean {
  const filtersOf = ({ managed_filters: filters }: ServiceObject) => JSON.stringify(filters);
  return before !== null && filtersOf(before.object) !== filtersOf(object);
}

/** Refuses ports of game servers that are not of the service. */
async function requirePorts(tx: Tx, { object }: Wanted<ServiceObject>): Promise<void> {
  for (const [index, { ports }] of object.managed_filters.entries()) {
    const uuids = (ports ?? '').split(',').flatMap((item) => NAMED_PORT.exec(item)?.[1] ?? []);
    const { rows } = await sql<{ uuid: string }>`
      select wanted.uuid from unnest(${uuids}::uuid[]) as wanted (uuid)
       where not exists (select from game_servers g
                          where g.uuid = wanted.uuid and g.service_id = ${object.id})`.execute(tx);
    const [elsewhere] = rows;
    if (elsewhere === undefined) continue;
    const detail = `The service has no game server ${elsewhere.uuid}.`;
    throw invalidField(`/managed_filters/${index}/ports`, detail);
  }
}
