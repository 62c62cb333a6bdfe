import type { FleetFile } from '../desired.ts';
import { renderMistake } from '../mistakes.ts';
import type { FleetState } from '../state/state.ts';
import type { FleetPlan } from './change.ts';
import { PlanDraft } from './draft.ts';
import { planObjects } from './objects.ts';
import { noteEggs, noteUnknownServers, refuseMissingEggs } from './game-servers.ts';

/**
 * Computes what has to change so that the database's fleet-file side is what the file says. Pure: the same
 * file and state make the same plan, and applying a plan leaves a state whose plan is empty.
 */
export function planChanges(file: FleetFile, state: FleetState): FleetPlan {
  const draft = new PlanDraft(file, state);
  planObjects(draft);
  refuseMissingEggs(draft);
  noteEggs(draft);
  noteUnknownServers(draft);
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
