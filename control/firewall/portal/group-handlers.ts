import { measuredPropagation } from '../writes/propagation.ts';
import { countPorts, expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import type { WantedFilter } from '@portcullis/core/firewall/rules/content.ts';
import { readMarks, wholeMarks } from '@portcullis/core/firewall/rules/marks.ts';
import { keyActor, recordAudit } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import { Batch } from '../../fleet/batch.ts';
import { currentGeneration } from '../../fleet/generations.ts';
import { inSnapshot } from '../../fleet/policies/policies.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import type { Answer, CallerCall } from '../../http/operations/operation.ts';
import { viewOf } from '../../http/operations/view.ts';
import { Problem } from '../../problem.ts';
import { deleteGeoRule, findGeoRule, listGeoRules, saveGeoRule } from '../geo/index.ts';
import {
  deleteGroup,
  GroupConflict,
  listGroups,
  previewGroup,
  saveGroup,
  type WantedGroup,
} from '../groups/index.ts';
import { enforcementNote } from '../held-store.ts';
import { groupPreviewView, groupView } from '../views.ts';

export type GroupPortalHandlers = Pick<
  Handlers,
  | 'listGroups'
  | 'createGroup'
  | 'saveGroup'
  | 'deleteGroup'
  | 'previewNewGroup'
  | 'previewGroup'
  | 'listGeoRules'
  | 'createGeoRule'
  | 'saveGeoRule'
  | 'deleteGeoRule'
>;

const NOTHING = 'Nothing was changed: it is so already.';

export function createGroupPortalHandlers(): GroupPortalHandlers {
  return {
    async listGroups(call, db) {
      const groups = await listGroups(db, call.by.organisationId);
      return { status: 200, body: { data: groups.map(groupView) } };
    },
    createGroup: (call, tx) => writeGroup(call, tx, null),
    saveGroup: (call, tx) => writeGroup(call, tx, call.params.group),
    async deleteGroup(call, tx) {
      const id = call.params.group;
      const batch = new Batch(tx, 'portal');
      await deleteGroup(batch, id, call.by.organisationId);
      return landed(call, batch, { id, action: 'group.delete', target: `group:${id}` });
    },
    previewNewGroup: (call, db) => preview(call, db, null),
    previewGroup: (call, db) => preview(call, db, call.params.group),
    async listGeoRules(call, db) {
      const rules = await listGeoRules(db, call.by.organisationId);
      return { status: 200, body: { data: rules.map(viewOf) } };
    },
    createGeoRule: (call, tx) => writeGeoRule(call, tx, null),
    saveGeoRule: (call, tx) => writeGeoRule(call, tx, call.params.geo_rule),
    async deleteGeoRule(call, tx) {
      const { id } = await findGeoRule(tx, call.by.organisationId, call.params.geo_rule);
      const batch = new Batch(tx, 'portal');
      await deleteGeoRule(batch, id);
      return landed(call, batch, { id, action: 'geo.delete', target: `geo-rule:${id}` });
    },
  };
}

type GroupCall = CallOf<'createGroup' | 'saveGroup' | 'previewGroup' | 'previewNewGroup'>;

async function writeGroup(call: GroupCall, tx: Tx, groupId: number | null): Promise<Answer> {
  const batch = new Batch(tx, 'portal');
  const saved = await saveGroup(batch, ofCall(call, groupId), wantedGroup(call));
  const [first] = saved.conflicts;
  if (first !== undefined) throw new GroupConflict(saved.conflicts, first, call.body.name);
  const action = groupId === null ? 'group.create' : 'group.save';
  const target = `group:${saved.id}`;
  const detail = { name: call.body.name, targets: saved.changes.map((one) => one.target) };
  const answer = await landed(call, batch, { id: saved.id, action, target, detail });
  return { ...answer, status: groupId === null ? 201 : 200 };
}

async function preview(
  call: GroupCall,
  db: Parameters<GroupPortalHandlers['previewGroup']>[1],
  groupId: number | null,
): Promise<Answer> {
  const planned = await inSnapshot(db, (tx) =>
    previewGroup(new Batch(tx, 'portal'), ofCall(call, groupId), wantedGroup(call)),
  );
  return {
    status: 200,
    body: { data: groupPreviewView(planned) },
    headers: { 'cache-control': 'no-store' },
  };
}

async function writeGeoRule(
  call: CallOf<'createGeoRule' | 'saveGeoRule'>,
  tx: Tx,
  known: number | null,
): Promise<Answer> {
  const batch = new Batch(tx, 'portal');
  const id = await saveGeoRule(batch, call.by.organisationId, known, call.body);
  const action = known === null ? 'geo.create' : 'geo.save';
  const target = `geo-rule:${id}`;
  const answer = await landed(call, batch, { id, action, target, detail: { ...call.body } });
  return { ...answer, status: known === null ? 201 : 200 };
}

async function landed(
  call: CallerCall,
  batch: Batch,
  done: {
    readonly id: number;
    readonly action: string;
    readonly target: string;
    readonly detail?: Readonly<Record<string, unknown>>;
  },
): Promise<Answer> {
  const { id, ...entry } = done;
  const generation = await batch.takeGeneration(entry.action);
  if (generation === null) {
    const data = { id, generation: await currentGeneration(batch.tx) };
    return { status: 200, body: { data, message: NOTHING } };
  }
  const { organisationId } = call.by;
  await recordAudit(batch.tx, { actor: keyActor(call), organisationId, generation, ...entry });
  return {
    status: 200,
    body: {
      data: { id, generation },
      message:
        `The change was accepted. ${await measuredPropagation(batch.tx)}` +
        (await enforcementNote(batch.tx, call.by, 'what this is assigned to')),
    },
    headers: { 'portcullis-generation': String(generation) },
  };
}

function ofCall({ by: caller }: CallerCall, groupId: number | null) {
  const { organisationId, organisation } = caller;
  return { organisationId, groupId, maxPorts: organisation.limits.maxPortsPerRequest };
}

function wantedGroup({ body, by: caller }: GroupCall): WantedGroup {
  const maxPorts = caller.organisation.limits.maxPortsPerRequest;
  return {
    name: body.name,
    targets: body.targets,
    rules: body.rules.map((rule) => ({ ...rule, ...wholeMarks(rule) })),
    filters: body.filters.flatMap((entry, index) => readFilter(entry, index, maxPorts)),
  };
}

type FilterEntry = GroupCall['body']['filters'][number];

function readFilter(entry: FilterEntry, index: number, maxPorts: number): WantedFilter[] {
  const refuse = (field: string, detail: string): Problem => {
    const errors = [{ pointer: `/filters/${index}/${field}`, detail }];
    return new Problem('invalid_request', `The filter is not valid: ${detail}.`, { errors });
  };
  const ports = parsePortExpression(entry.port);
  if (!ports.ok) throw refuse('port', ports.reason);
  const count = countPorts(ports.value);
  if (count > maxPorts) throw refuse('port', `names more than ${maxPorts} ports`);
  const read = readMarks(wholeMarks(entry), count, new Date());
  if (!read.ok) throw refuse(read.field, read.reason);
  if (read.value.hasExpired) throw refuse('expires_at', 'expires_at is over already');
  return expandPorts(ports.value).map((port) => ({ type: entry.type, port, ...read.value.marks }));
}
