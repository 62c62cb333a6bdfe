import {
  NOTHING_SET,
  type ScopeSettings,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Position } from '../mistakes.ts';
import type { DetectionPlace } from './change.ts';
import { describeDifferences, type PlanDraft } from './draft.ts';
import { showCidr } from '../../operator/index.ts';
import type { PlannedHolding } from './holdings.ts';

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
