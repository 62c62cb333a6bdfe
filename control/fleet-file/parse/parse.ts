import { DEFAULT_LIMITS, parseOrganisation } from './organisation.ts';
import type { DesiredBaselineRule, DesiredEdge, FleetFile } from '../desired.ts';
import { type Mistake, MistakeList } from '../mistakes.ts';
import { parseCollectors } from './collectors.ts';
import { parseRules } from './firewall.ts';
import { Scope } from './scope.ts';
import { parseResponders } from './responders.ts';
import { refuseOverlaps, refuseSharedNumbers } from './shared.ts';
import { type EggsAtHand, NO_EGGS, parseGameServers, parseNodes } from './game-servers.ts';
import type { FleetText } from '../schema/schema.ts';
import { checkShape } from '../schema/check.ts';
import { type Environment, locateYaml } from '../read/yaml-source.ts';

export type FleetFileResult =
  | { readonly ok: true; readonly value: FleetFile }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** The eggs that a file names, as it names them: none, when the file is too wrong to say. */
export function namedEggs(text: string, env: Environment): string[] {
  const mistakes = new MistakeList('');
  const located = locateYaml(text, env, mistakes);
  const shaped = located && checkShape(located, mistakes);
  return shaped?.game_servers?.map(({ egg }) => egg) ?? [];
}

/** The fleet file's text and its eggs, to what it wants or to everything that is wrong with it. Pure. */
export function parseFleet(
  text: string,
  path: string,
  env: Environment,
  eggs: EggsAtHand = NO_EGGS,
): FleetFileResult {
  const mistakes = new MistakeList(path);
  const located = locateYaml(text, env, mistakes);
  if (located === null) return { ok: false, mistakes: mistakes.list() };
  const shaped = checkShape(located, mistakes);
  if (shaped === null) return { ok: false, mistakes: mistakes.list() };
  const value = parseShaped(shaped, path, new Scope(located, mistakes), eggs);
  return mistakes.empty ? { ok: true, value } : { ok: false, mistakes: mistakes.list() };
}

function parseShaped(text: FleetText, path: string, scope: Scope, eggs: EggsAtHand): FleetFile {
  const organisations = Object.entries(text.organisations ?? {}).map(([slug, organisation]) =>
    parseOrganisation(slug, organisation, scope.in('organisations', slug)),
  );
  refuseSharedNumbers(organisations, scope);
  refuseOverlaps(organisations, scope);
  return {
    path,
    organisations,
    baseline: parseBaseline(text.baseline ?? [], scope.in('baseline')),
    edges: parseEdges(text.edges ?? [], scope.in('edges')),
    nodes: parseNodes(text.nodes ?? [], scope.in('nodes')),
    gameServers: parseGameServers(text, organisations, eggs, scope),
    collectors: parseCollectors(text.collectors ?? [], scope.in('collectors')),
    responders: parseResponders(text.responders ?? [], scope.in('responders')),
  };
}

function parseBaseline(
  entries: NonNullable<FleetText['baseline']>,
  scope: Scope,
): DesiredBaselineRule[] {
  const found: DesiredBaselineRule[] = [];
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const place = scope.in(index);
    for (const prefix of place.in('prefixes').cidrs(entry.prefixes)) {
      const family = prefix.includes(':') ? 6 : 4;
      const maxPorts = DEFAULT_LIMITS.maxPortsPerRequest;
      for (const { rule, at } of parseRules(entry.rules, family, maxPorts, place.in('rules'))) {
        const key = `${prefix} ${JSON.stringify(rule)}`;
        if (seen.has(key)) place.refuse(`${prefix} has a baseline rule twice.`);
        seen.add(key);
        found.push({ at, prefix, rule });
      }
    }
  }
  return found;
}

function wordPort({
  protocol,
  port,
}: {
  readonly protocol: string;
  readonly port: number;
}): string {
  return `${protocol} ${port}`;
}

function parseEdges(entries: NonNullable<FleetText['edges']>, scope: Scope): DesiredEdge[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The edge');
  return entries.map((edge, index) => {
    const place = scope.in(index);
    place.in('devices').unique(edge.devices, (device) => device, '', 'The device');
    const management = edge.management ?? [{ protocol: 'tcp', port: 22 }];
    place.in('management').unique(management, wordPort, '', 'The port');
    return {
      at: place.at,
      name: edge.name,
      site: edge.site ?? edge.name,
      devices: edge.devices,
      serves: place.in('serves').cidrs(edge.serves ?? ['0.0.0.0/0', '::/0']),
      sees: edge.sees ?? 'both',
      fragments: edge.fragments ?? 'reassemble',
      management,
    };
  });
}
