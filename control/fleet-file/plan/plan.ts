import type { FleetFile } from '../desired.ts';
import { renderMistake } from '../mistakes.ts';
import type { FleetState } from '../state/state.ts';
import { planAsns, planKeys, planOrganisations, planServices } from './access.ts';
import type { FleetPlan } from './change.ts';
import { planDetection } from './detection.ts';
import { PlanDraft } from './draft.ts';
import { planBlocked } from './blocked.ts';
import { planDefaults, planGeoRules, planGroups } from './firewall.ts';
import { planObjects } from './objects.ts';
import { planGameServers } from './game-servers.ts';
import { HoldingIndex, planHoldings } from './holdings.ts';

/**
 * Computes what has to change so that the database's fleet-file side is what the file says. Pure: the same
 * file and state make the same plan, and applying a plan leaves a state whose plan is empty.
 */
export function planChanges(file: FleetFile, state: FleetState): FleetPlan {
  const draft = new PlanDraft(file, state);
  planOrganisations(draft);
  const planned = planHoldings(draft);
  planAsns(draft, planned);
  planServices(draft, planned);
  planKeys(draft);
  const index = new HoldingIndex(planned, state.now);
  planGroups(draft, index);
  planGeoRules(draft, index);
  planBlocked(draft, index);
  planDefaults(draft, planned);
  planObjects(draft);
  planGameServers(draft);
  planDetection(draft, planned);
  return draft.finish();
}

/** The plan as text for the operator: one line for each change, then notes and refusals. */
export function renderPlan({ changes, mistakes, losses, notes }: FleetPlan): string {
  const lines = [
    ...changes.map(({ sign, subject, words }) =>
      words === '' ? `${sign} ${subject}` : `${sign} ${subject}: ${words}`,
    ),
    ...notes.map((note) => `  ${note}`),
    ...[...losses, ...mistakes].map((mistake) => `! ${renderMistake(mistake)}`),
  ];
  if (changes.length === 0 && mistakes.length === 0) lines.unshift('Nothing to change.');
  return `${lines.join('\n')}\n`;
}
