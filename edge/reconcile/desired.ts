import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { EdgeChanges, EdgePage } from '@portcullis/link/messages/edge.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';

const NO_SETS: SourceSets = { version: '', sets: {} };

/** Applies the pages of one sync to the previous state. All pages have one generation. */
export function mergePages(held: Desired | null, pages: readonly EdgePage[]): Desired {
  const last = pages.at(-1);
  if (last === undefined) throw new Error('a sync has at least one page');
  const base = last.whole || held === null ? [] : held.policies;
  return {
    generation: last.generation,
    policies: withParts(base, held, pages),
    sourceSets: joinSets(pages) ?? held?.sourceSets ?? NO_SETS,
    settings: last.settings,
  };
}

/** Applies changes that begin at the held generation or before it. */
export function mergeChanges(held: Desired, changes: EdgeChanges): Desired {
  const { generation, settings } = changes;
  return { ...held, generation, settings, policies: withParts(held.policies, held, [changes]) };
}

function withParts(
  base: Iterable<readonly [string, Policy]>,
  held: Desired | null,
  parts: readonly Pick<EdgePage, 'policies' | 'removed'>[],
): VersionedMap<Policy> {
  const changes: [string, Policy | undefined][] = [];
  for (const { policies, removed } of parts) {
    for (const target of removed) changes.push([target, undefined]);
    for (const policy of policies) {
      const known = held?.policies.get(policy.target);
      // An unchanged policy keeps its object, so that its compiled form stays valid.
      const same = known !== undefined && JSON.stringify(known) === JSON.stringify(policy);
      changes.push([policy.target, same ? known : policy]);
    }
  }
  return (base instanceof VersionedMap ? base : VersionedMap.from<Policy>(base)).with(changes);
}

/** Joins the parts of the source sets in these pages. Returns null without parts; the present sets then stay valid. */
function joinSets(pages: readonly EdgePage[]): SourceSets | null {
  const parts = pages.flatMap(({ sourceSets }) => sourceSets ?? []);
  const first = parts[0];
  if (first === undefined || parts.length === 1) return first ?? null;
  const networks = new Map<string, string[]>();
  for (const { sets } of parts) {
    for (const [name, some] of Object.entries(sets)) {
      const known = networks.get(name) ?? [];
      for (const network of some) known.push(network);
      networks.set(name, known);
    }
  }
  return { version: first.version, sets: Object.fromEntries(networks) };
}

/** Adds what is specific to this host: the present names of devices, and its own management ports. */
export function withMore(
  desired: Desired,
  devices: readonly string[],
  management: readonly ManagementPort[] = [],
): Desired {
  const { settings } = desired;
  if (management.length === 0 && devices === settings.devices) return desired;
  const all = managementOf(desired, management);
  return { ...desired, settings: { ...settings, devices, management: all } };
}

/** The management ports of the operator and of this host, each once. */
export function managementOf(
  desired: Desired | null,
  own: readonly ManagementPort[],
): readonly ManagementPort[] {
  const all = [...(desired?.settings.management ?? []), ...own];
  return [...new Map(all.map((one) => [`${one.protocol} ${one.port}`, one])).values()];
}
