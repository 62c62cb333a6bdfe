import type { GroupObject } from '@portcullis/contract/schemas/declared/group.ts';
import type { WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import type { Marks } from '@portcullis/core/firewall/rules/marks.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import {
  assignGroups,
  createGroups,
  editGroups,
  GroupConflict,
  marksAsJson,
  type PlacedEdit,
  withDates,
} from '../../firewall/groups/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import { invalidField } from '../../problem.ts';
import { blame } from '../culprit.ts';
import type { Current, Wanted } from '../kind.ts';
import { compareContent, contentOf, type GroupFacts } from './group-content.ts';
import { filterEntry, ruleEntry } from './rule-entries.ts';
import {
  addressesAt,
  comparePlaces,
  type PlacedObject,
  placeAll,
  placesOf,
  targetsOf,
} from './placing.ts';

interface GroupRow extends GroupFacts {
  readonly id: number;
  readonly owner: Current<GroupObject>['owner'];
  readonly organisation: string;
  readonly name: string;
}

export async function loadGroups(
  db: Db | Tx,
  keys?: readonly string[],
  organisation?: string,
): Promise<Current<GroupObject, GroupFacts>[]> {
  const wanted = keys ?? null;
  const { rows } = await sql<GroupRow>`
    select g.id, o.slug as organisation, g.name, g.owner,
           coalesce((select json_agg(json_build_object('id', r.id, 'action', r.action,
                       'protocol', r.protocol, 'source', abbrev(r.source::inet), 'port', r.port,
                       'namedPort', case when r.port_server is not null then json_build_object(
                         'server', r.port_server, 'name', r.port_name) end, ${marksAsJson('r')}) order by r.id)
              from group_rules r where r.group_id = g.id and r.deleted_generation is null), '[]') as rules,
           coalesce((select json_agg(json_build_object('id', f.id, 'type', f.type, 'port', f.port,
                       ${marksAsJson('f')}) order by f.id)
              from group_filters f
             where f.group_id = g.id and f.deleted_generation is null), '[]') as filters,
           ${placesOf('group_assignments', 'group_id')} as places
      from groups g join organisations o on o.id = g.organisation_id
     where g.deleted_at is null
       and (${wanted}::text[] is null or o.slug || ' ' || g.name = any(${wanted}::text[]))
       and (${organisation ?? null}::text is null or o.slug = ${organisation ?? null})
     order by o.slug, g.name`.execute(db);
  return rows
    .map(withDates)
    .map(({ id, owner, organisation: slug, name, places, rules, filters }) => {
      const content = { rules: rules.map(ruleEntry), filters: filters.map(filterEntry) };
      const object = { organisation: slug, name, ...content, addresses: addressesAt(places) };
      return { id, owner, object, facts: { places, rules, filters } };
    });
}

/** Hands groups to the fleet file by organisation and name. */
export async function adoptGroups(tx: Tx, keys: readonly string[]): Promise<void> {
  await sql`
    update groups g set owner = 'fleet' from organisations o
     where o.id = g.organisation_id and g.owner = 'portal' and g.deleted_at is null
       and o.slug || ' ' || g.name = any(${keys}::text[])`.execute(tx);
}

type WantedGroup = Wanted<GroupObject, GroupFacts>;

/** Changes groups first, so that what they leave is free for new ones. */
export async function saveGroups(batch: Batch, many: readonly WantedGroup[]): Promise<void> {
  const placed = await placeAll(batch.tx, targetsOf, many);
  const ports = await loadPorts(batch.tx, many);
  const changed = placed.filter(({ one }) => one.before !== null);
  const created = placed.filter(({ one }) => one.before === null);
  const ids = new Map(changed.map(({ one }) => [one.before?.id ?? 0, one.object]));
  try {
    const edits = changed.flatMap((group) => editOf(group, ports));
    if (edits.length > 0) await editGroups(batch, edits);
    if (created.length > 0) await create(batch, created, { ids, ports });
  } catch (error) {
    const object = error instanceof GroupConflict ? ids.get(error.groupId) : undefined;
    if (error instanceof GroupConflict && object !== undefined) blame(error, object);
    throw error;
  }
}

type Ports = ReadonlyMap<string, number>;

function editOf(
  { one: { object, before }, places }: PlacedObject<WantedGroup>,
  ports: Ports,
): PlacedEdit[] {
  if (before === null) return [];
  const { rules, filters, markedRules, markedFilters } = compareContent(before.facts, object);
  const { added, removed } = comparePlaces(before.facts.places, places);
  return [
    {
      groupId: before.id,
      addRules: rules.created.map((rule) => numbered(rule, object, ports)),
      addFilters: filters.created,
      removeRules: rules.deleted.map(idOf),
      removeFilters: filters.deleted.map(idOf),
      markRules: markedRules.map(marksOf),
      markFilters: markedFilters.map(marksOf),
      assign: added,
      unassign: removed,
    },
  ];
}

function marksOf({
  stored,
  marks,
}: {
  readonly stored: { readonly id: number };
  readonly marks: Marks;
}) {
  return { ...marks, id: stored.id };
}

async function create(
  batch: Batch,
  created: readonly PlacedObject<WantedGroup>[],
  { ids, ports }: { readonly ids: Map<number, GroupObject>; readonly ports: Ports },
): Promise<void> {
  const slugs = created.map(({ one }) => one.object.organisation);
  const { rows } = await sql<{ id: number; slug: string }>`
    select id, slug from organisations where slug = any(${slugs}::text[])`.execute(batch.tx);
  const organisations = new Map(rows.map(({ id, slug }) => [slug, id]));
  const groups = created.map(({ one: { object } }) => {
    const { rules, filters } = contentOf(object);
    const organisationId = organisations.get(object.organisation) ?? 0;
    const named = rules.map((rule) => numbered(rule, object, ports));
    return { name: object.name, organisationId, rules: named, filters };
  });
  const made = await createGroups(batch, groups);
  const places = created.flatMap(({ one, places: wanted }, index) => {
    const groupId = made[index] ?? 0;
    ids.set(groupId, one.object);
    return wanted.map((place) => ({ ...place, groupId }));
  });
  if (places.length > 0) await assignGroups(batch, places);
}

/** The present numbers of the ports of game servers that rules name. */
async function loadPorts(tx: Tx, many: readonly WantedGroup[]): Promise<Ports> {
  const names = many.flatMap(({ object }) =>
    object.rules.flatMap(({ destination_port: port }) => PORT_SERVER.exec(String(port))?.[1] ?? []),
  );
  if (names.length === 0) return new Map();
  const { rows } = await sql<{ key: string; port: number }>`
    select o.slug || ' ' || p.uuid || ':' || p.name as key, p.port
      from named_ports p join organisations o on o.id = p.organisation_id
     where p.uuid = any(${[...new Set(names)]}::uuid[])`.execute(tx);
  return new Map(rows.map(({ key, port }) => [key, port]));
}

const PORT_SERVER = /^([0-9a-f-]{36}):/;

/** A rule with the present number of the port that it names. */
function numbered(rule: WantedRule, { organisation }: GroupObject, ports: Ports): WantedRule {
  const { namedPort = null } = rule;
  if (namedPort === null) return rule;
  const name = `${namedPort.server}:${namedPort.name}`;
  const port = ports.get(`${organisation} ${name}`);
  if (port === undefined) throw invalidField('/rules', `The organisation has no port ${name}.`);
  return { ...rule, port };
}

function idOf({ id }: { readonly id: number }): number {
  return id;
}
