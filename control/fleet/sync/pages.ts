import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { LoadedPolicies } from '../policies/policies.ts';

/** A page of a content; its source sets are those of an edge. */
export interface ContentPage extends LoadedPolicies {
  readonly isLast: boolean;
}

/** Cuts parts into pages. There is one at least, and the last one says that it is. */
export async function* cutPages(
  parts: AsyncIterable<LoadedPolicies>,
  pageBytes: number,
): AsyncGenerator<ContentPage, void> {
  let policies: Policy[] = [];
  let removed: string[] = [];
  let bytes = 0;
  const take = (isLast: boolean): ContentPage => {
    const page = { policies, removed, isLast };
    policies = [];
    removed = [];
    bytes = 0;
    return page;
  };
  for await (const part of parts) {
    for (const policy of part.policies) {
      if (bytes >= pageBytes) yield take(false);
      policies.push(policy);
      bytes += estimateBytes(policy);
    }
    for (const target of part.removed) {
      if (bytes >= pageBytes) yield take(false);
      removed.push(target);
      bytes += target.length + 3;
    }
  }
  yield take(true);
}

/** Splits sets, because all countries exceed a message and one alone can exceed a page. */
export function cutSets(sourceSets: SourceSets | null, pageBytes: number): SourceSets[] {
  if (sourceSets === null) return [];
  const { version } = sourceSets;
  const pages: SourceSets[] = [];
  let sets: Record<string, string[]> = {};
  let bytes = 0;
  const cut = (): void => {
    pages.push({ version, sets });
    sets = {};
    bytes = 0;
  };
  for (const [name, networks] of Object.entries(sourceSets.sets)) {
    let part: string[] = [];
    sets[name] = part;
    bytes += name.length + 6;
    for (const network of networks) {
      if (bytes >= pageBytes) {
        cut();
        part = [];
        sets[name] = part;
      }
      part.push(network);
      bytes += network.length + 3;
    }
  }
  cut();
  return pages;
}

/** A close upper estimate of the JSON size; measuring it would cost as much as sending it. */
function estimateBytes(policy: Policy): number {
  const rules = policy.rules.length + policy.baseline.length;
  const sets = policy.geo.reduce((sum, rule) => sum + rule.sets.length, 0);
  const overlays = [...policy.mitigations, ...policy.filters];
  const safelisted = overlays.reduce((sum, { safelist }) => sum + safelist.length, 0);
  const others = 300 * policy.mitigations.length + 120 * policy.filters.length + 46 * safelisted;
  return 160 + 140 * rules + others + 60 * policy.geo.length + 16 * sets;
}
