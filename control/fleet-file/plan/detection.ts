import { createHash } from 'node:crypto';
import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { CollectorExporter } from '../../db/schema.ts';
import type { ResponderSpec } from '../../db/schema.ts';
import { completeExporters } from '../../declared/collectors.ts';
import type { DesiredCollector } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import type { DetectionPlace } from './change.ts';
import { describeDifferences, type PlanDraft, planNamed } from './draft.ts';
import { type PlannedHolding, showCidr } from './holdings.ts';

interface Scope {
  readonly organisation: string;
  readonly name: string;
  readonly of: DetectionPlace;
  readonly detection: ScopeSettings;
  readonly at: Position;
}

/** Plans changes of thresholds, mitigation modes and safelists, scope by scope. */
export function planDetection(draft: PlanDraft, planned: readonly PlannedHolding[]): void {
  const current = draft.state.detection;
  const ids = new Map(draft.state.organisations.map(({ id, slug }) => [slug, id]));
  const set = (scope: Scope, before: ScopeSettings = NOTHING_SET): void => {
    const { organisation, name, of, detection, at } = scope;
    const words = describeDifferences(detectionFields(before), detectionFields(detection));
    if (words === '') return;
    const subject = `detection on ${name} (${organisation})`;
    draft.add({ do: 'detection.set', sign: '~', subject, words, organisation, of, detection }, at);
  };
  for (const { slug: organisation, detection, services, at } of draft.organisations) {
    const name = `everything of ${organisation}`;
    const before = current.organisations.get(ids.get(organisation) ?? 0);
    set({ organisation, name, of: { kind: 'organisation' }, detection, at }, before);
    for (const { id, ...service } of services) {
      const scope = { ...service, organisation, name: `service ${id}` };
      set({ ...scope, of: { kind: 'service', id } }, current.services.get(id));
    }
  }
  for (const { ref, organisation, cidr, detection, at } of planned) {
    if (detection === null || at === null) continue;
    const before = ref.kind === 'new' ? undefined : current.holdings.get(ref.id);
    const name = showCidr(cidr);
    set({ organisation, name, of: { kind: 'holding', ref }, detection, at }, before);
  }
}

/** Settings under the names that the file uses. */
function detectionFields({ pps, mbps, holdSeconds, mitigation, safelist }: ScopeSettings) {
  return { pps, mbps, hold_seconds: holdSeconds, mitigation, safelist };
}

export function planCollectors(draft: PlanDraft): void {
  planNamed(draft, 'collector', {
    wanted: draft.file.collectors,
    rows: draft.state.collectors,
    save(wanted, row) {
      const exporters = completeExporters(wanted.exporters, row?.exporters ?? []);
      if (!exporters.ok) {
        draft.refuse(wanted.at, exporters.reason);
        return;
      }
      noteUnsaid(draft, wanted);
      const collector = { ...wanted, exporters: exporters.value };
      const change = {
        do: 'collector.save',
        collector,
        subject: `collector ${collector.name}`,
        organisation: null,
      } as const;
      const fields = collectorFields(collector);
      if (row === undefined) {
        const words = `at ${fields.listen}, from ${fields.exporters.join(', ')}`;
        draft.add({ sign: '+', words, ...change }, collector.at);
        return;
      }
      const words = describeDifferences(collectorFields(row), fields);
      if (words !== '') draft.add({ sign: '~', words, ...change }, collector.at);
    },
    remove({ id, name }) {
      const subject = `collector ${name}`;
      draft.add({ do: 'collector.delete', sign: '-', id, subject, words: '', organisation: null });
    },
  });
}

function noteUnsaid(draft: PlanDraft, { name, exporters }: DesiredCollector): void {
  const unsaid = exporters.filter(({ prefixes }) => prefixes === null).map(({ ip }) => ip);
  if (unsaid.length === 0) return;
  draft.note(
    `collector ${name}: the file does not say of which destinations ${unsaid.join(', ')} is believed, so that stays as it is: write prefixes: [...], or prefixes: all`,
  );
}

function collectorFields({
  listen,
  exporters,
  site,
}: {
  readonly listen: string;
  readonly exporters: readonly CollectorExporter[];
  readonly site: string | null;
}) {
  return { listen, exporters: exporters.map(describeExporter), site };
}

function describeExporter({ ip, samplingRate, prefixes }: CollectorExporter): string {
  const rate = samplingRate === null ? '' : ` 1:${samplingRate}`;
  return `${ip}${rate} of ${prefixes === 'all' ? prefixes : prefixes.join(' ')}`;
}

export function planResponders(draft: PlanDraft): void {
  planNamed(draft, 'responder', {
    wanted: draft.file.responders,
    rows: draft.state.responders,
    save(responder, row) {
      const change = {
        do: 'responder.save',
        responder,
        subject: `responder ${responder.name}`,
        organisation: null,
      } as const;
      const fields = responderFields(responder.spec);
      if (row === undefined) {
        draft.add({ sign: '+', words: `calls ${fields.calls}`, ...change }, responder.at);
        return;
      }
      const words = describeDifferences(responderFields(row.spec), fields);
      if (words !== '') draft.add({ sign: '~', words, ...change }, responder.at);
    },
    remove({ id, name }) {
      const subject = `responder ${name}`;
      draft.add({ do: 'responder.delete', sign: '-', id, subject, words: '', organisation: null });
    },
  });
}

/** A secret is shown as a short hash, which tells only whether it changed. */
function responderFields({
  call,
  prefixes,
  pps,
  mbps,
  timeoutSeconds,
  expiresSeconds,
}: ResponderSpec) {
  const secret = call.kind === 'webhook' ? call.secret : null;
  return {
    calls: call.kind === 'command' ? call.command.join(' ') : call.url,
    secret: secret === null ? null : createHash('sha256').update(secret).digest('hex').slice(0, 8),
    prefixes: prefixes ?? 'all',
    pps,
    mbps,
    timeout_seconds: timeoutSeconds,
    expires_seconds: expiresSeconds,
  };
}
