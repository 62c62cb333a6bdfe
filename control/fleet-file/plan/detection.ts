import { NOTHING_SET, type ScopeSettings } from '@portcullis/core/attacks/scope-settings.ts';
import type { CollectorExporter } from '../../db/schema.ts';
import type { DetectionPlace } from './change.ts';
import type { DesiredOrganisation, FleetFile } from '../desired.ts';
import type { Position } from '../mistakes.ts';
import { type PlanDraft, wordDifferences } from './draft.ts';
import { type PlannedHolding, showCidr } from './holdings.ts';

import type { FleetState } from '../state/state.ts';

/** What differs of thresholds, mitigation modes and safelists, scope by scope. */
export function planDetection(
  draft: PlanDraft,
  state: FleetState,
  organisations: readonly DesiredOrganisation[],
  planned: readonly PlannedHolding[],
): void {
  const ids = new Map(state.organisations.map(({ id, slug }) => [slug, id]));
  const set = (wanted: Wanted, before: ScopeSettings | undefined): void => {
    const { slug, name, of, detection, at } = wanted;
    const words = wordDifferences(fieldsOf(before ?? NOTHING_SET), fieldsOf(detection));
    if (words === '') return;
    const subject = `detection on ${name} (${slug})`;
    draft.add(
      { do: 'detection.set', sign: '~', subject, words, organisation: slug, of, detection },
      at,
    );
  };
  for (const { slug, detection, services, at } of organisations) {
    const id = ids.get(slug);
    const of = { kind: 'organisation' } as const;
    const name = `everything of ${slug}`;
    set(
      { slug, name, of, detection, at },
      id === undefined ? undefined : state.detection.organisations.get(id),
    );
    for (const service of services) {
      const place = { kind: 'service', id: service.id } as const;
      const named = { slug, name: `service ${service.id}`, of: place };
      set(
        { ...named, detection: service.detection, at: service.at },
        state.detection.services.get(service.id),
      );
    }
  }
  for (const { ref, organisation: slug, cidr, detection, at } of planned) {
    if (detection === null || at === null) continue;
    const before = ref.kind === 'new' ? undefined : state.detection.holdings.get(ref.id);
    set({ slug, name: showCidr(cidr), of: { kind: 'holding', ref }, detection, at }, before);
  }
}

interface Wanted {
  readonly slug: string;
  readonly name: string;
  readonly of: DetectionPlace;
  readonly detection: ScopeSettings;
  readonly at: Position;
}

/** As the file names them. */
function fieldsOf({ pps, mbps, holdSeconds, mitigation, safelist }: ScopeSettings) {
  return { pps, mbps, hold_seconds: holdSeconds, mitigation, safelist };
}

export function planCollectors(draft: PlanDraft, state: FleetState, file: FleetFile): void {
  const current = new Map(state.collectors.map((row) => [row.name, row]));
  for (const collector of file.collectors) {
    const { name, listen, exporters, site, at } = collector;
    const row = current.get(name);
    current.delete(name);
    const told = { collector, subject: `collector ${name}`, organisation: null };
    if (row?.owner === 'portal') {
      draft.refuse(at, `The collector ${name} belongs to the portal; change it there.`);
      continue;
    }
    const wanted = { listen, exporters: exporters.map(wordExporter), site };
    if (row === undefined) {
      const words = `at ${listen}, from ${wanted.exporters.join(', ')}`;
      draft.add({ do: 'collector.save', sign: '+', words, ...told }, at);
      continue;
    }
    const before = {
      listen: row.listen,
      exporters: row.exporters.map(wordExporter),
      site: row.site,
    };
    const words = wordDifferences(before, wanted);
    if (words !== '') draft.add({ do: 'collector.save', sign: '~', words, ...told }, at);
  }
  for (const { id, name, owner } of current.values()) {
    if (owner === 'portal') continue;
    const told = { subject: `collector ${name}`, words: '', organisation: null };
    draft.add({ do: 'collector.delete', sign: '-', id, ...told });
  }
}

function wordExporter({ ip, samplingRate, prefixes = null }: CollectorExporter): string {
  const rate = samplingRate === null ? '' : ` 1:${samplingRate}`;
  return `${ip}${rate}${prefixes === null ? '' : ` of ${prefixes.join(' ')}`}`;
}
