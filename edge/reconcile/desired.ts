import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { EdgePage } from '@portcullis/link/messages/edge.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';

const NO_SETS: SourceSets = { version: '', sets: {} };

/** Applies the pages of one sync to the previous state. All pages have one generation. */
export function mergePages(held: Desired | null, pages: readonly EdgePage[]): Desired {
  const last = pages.at(-1);
  if (last === undefined) throw new Error('a sync has at least one page');
  const changes: [string, Policy | undefined][] = [];
  for (const page of pages) {
    for (const target of page.removed) changes.push([target, undefined]);
    for (const policy of page.policies) {
      const known = held?.policies.get(policy.target);
      // An unchanged policy keeps its object, so that its compiled form stays valid.
      const same = known !== undefined && JSON.stringify(known) === JSON.stringify(policy);
      changes.push([policy.target, same ? known : policy]);
    }
  }
  const base = last.whole || held === null ? [] : held.policies;
  const before = base instanceof VersionedMap ? base : VersionedMap.from<Policy>(base);
  const policies = before.with(changes);
  return {
    generation: last.generation,
    policies,
    sourceSets: joinSets(pages) ?? held?.sourceSets ?? NO_SETS,
    settings: last.settings,
  };
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
