import type { FleetPlan } from './change.ts';
import type { FleetFile } from '../desired.ts';
import {
  planAsns,
  planClosing,
  planKeys,
  planOrganisation,
  planServices,
  wordPortalSide,
} from './access.ts';
import { planCollectors, planDetection } from './detection.ts';
import { PlanDraft } from './draft.ts';
import { planBaseline, planEdges, planGeoRules, planGroups } from './firewall.ts';
import { planGameServers, planNodes } from './game-servers.ts';
import { HoldingIndex, planHoldings } from './holdings.ts';
import { planResponders } from './responders.ts';
import type { FleetState } from '../state/state.ts';

/**
 * What has to change so that the database is what the file says, on the file's side of it. Pure: the same
 * file and state make the same plan, and a state that a plan led to makes an empty one.
 */
export function planChanges(file: FleetFile, state: FleetState): FleetPlan {
  const draft = new PlanDraft(file.path);
  const current = new Map(state.organisations.map((row) => [row.slug, row]));
  // An organisation of the portal is refused once, not once more for everything in it.
  const organisations = file.organisations.filter(({ slug, at }) => {
    if (current.get(slug)?.owner !== 'portal') return true;
    draft.refuse(at, `The organisation ${slug} belongs to the portal; change it there.`);
    return false;
  });
  for (const wanted of organisations) {
    planOrganisation(draft, current.get(wanted.slug), wanted);
    current.delete(wanted.slug);
  }
  for (const gone of current.values()) {
    if (gone.owner === 'portal') continue;
    const portal = wordPortalSide(state, gone.id);
    if (portal === '') planClosing(draft, gone);
    else {
      const message = `${gone.slug} is not in the file, but has ${portal} that belong to the portal; remove them there first.`;
      draft.refuse(PlanDraft.fileStart, message);
    }
  }
  const planned = planHoldings(draft, state, organisations);
  planAsns(draft, state, organisations, planned);
  planServices(draft, state, organisations, planned);
  planKeys(draft, state, organisations);
  const index = new HoldingIndex(planned, state.now);
  planGroups(draft, state, organisations, index);
  planGeoRules(draft, state, organisations, index);
  planBaseline(draft, state, file);
  planEdges(draft, state, file);
  planNodes(draft, state, file);
  planGameServers(draft, state, file);
  planDetection(draft, state, organisations, planned);
  planCollectors(draft, state, file);
  planResponders(draft, state, file);
  return draft.finish();
}

/** The plan as people read it: a line a change, then what must be known. */
export function renderPlan({ changes, mistakes, orphans, notes }: FleetPlan): string {
  const place = ({ file, line, column }: (typeof mistakes)[number]) => `${file}:${line}:${column}`;
  const lines = [
    ...changes.map(({ sign, subject, words }) =>
      words === '' ? `${sign} ${subject}` : `${sign} ${subject}: ${words}`,
    ),
    ...notes.map((note) => `  ${note}`),
    ...orphans.map((orphan) => `! ${place(orphan)}: ${orphan.message}`),
    ...mistakes.map((mistake) => `! ${place(mistake)}: ${mistake.message}`),
  ];
  if (changes.length === 0 && mistakes.length === 0) lines.unshift('Nothing to change.');
  return `${lines.join('\n')}\n`;
}
