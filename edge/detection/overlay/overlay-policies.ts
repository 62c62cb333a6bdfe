import { createHash } from 'node:crypto';
import { renderAction } from '@portcullis/core/attacks/actions.ts';
import {
  MITIGATION_REF,
  type Policy,
  type PolicyFilter,
} from '@portcullis/core/firewall/policy.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';
import { keyOf } from '../action-key.ts';
import type { OverlayEntry } from './overlay.ts';

/** What is added to a policy. */
type Added = Pick<Policy, 'mitigations' | 'filters'>;

interface Merged {
  readonly base: Policy | undefined;
  readonly policy: Policy;
}

/**
 * Puts what an edge does alone into what is desired. Policies that come out the same stay the same objects, so what
 * was compiled of them is still good. Costs nothing while there is nothing to put.
 */
export class OverlayPolicies {
  #entries: readonly OverlayEntry[] = [];
  /** What is against the nearest subject, and against those around it. */
  #nearest = new NearestScope<Added & { readonly subject: string }>([]);
  #merged = new Map<string, Merged>();
  /** What is held, and the network by which each is. */
  #held: readonly string[] = [];
  #holding = new NearestScope<string>([]);

  /** `held`: networks that are held each by itself; what is done around them is not done there. */
  put(
    desired: Desired,
    entries: readonly OverlayEntry[],
    held: readonly string[] = NOBODY,
  ): Desired {
    if (entries.length === 0) {
      this.#use(entries, NOBODY);
      return desired;
    }
    if (entries !== this.#entries || held !== this.#held) this.#use(entries, held);
    const merged = new Map<string, Merged>();
    const prefixes = prefixPolicies(desired.policies);
    for (const target of this.#targets(desired.policies)) {
      const base = desired.policies.get(target);
      if (base !== undefined && !this.#isMeant(target)) continue;
      merged.set(target, this.#merge(target, base ?? prefixes().of(target) ?? undefined));
    }
    this.#merged = merged;
    const before = desired.policies;
    const policies = before instanceof VersionedMap ? before : VersionedMap.from<Policy>(before);
    return {
      ...desired,
      policies: policies.with([...merged].map(([target, { policy }]) => [target, policy])),
    };
  }

  #use(entries: readonly OverlayEntry[], held: readonly string[]): void {
    this.#entries = entries;
    this.#held = held;
    this.#holding = new NearestScope(held.map((one) => [one, one] as const));
    const holder = (subject: string) => this.#holding.of(subject);
    this.#nearest = new NearestScope(
      entries.map(({ subject }) => {
        const all = around(subject, entries);
        const own = all.filter((one) => holder(one.subject) === holder(subject));
        return [subject, { subject, ...render(own) }] as const;
      }),
    );
    this.#merged.clear();
  }

  /** Who holds it holds what is attacked. */
  #isMeant(target: string): boolean {
    const nearest = this.#nearest.of(target);
    return nearest !== null && this.#holding.of(nearest.subject) === this.#holding.of(target);
  }

  /**
   * Subjects, and whoever has a policy of his own in one of them or holds a part of it: a prefix's would not judge the
   * one and would judge the other.
   */
  *#targets(policies: ReadonlyMap<string, Policy>): Generator<string> {
    const subjects = new Set(this.#entries.map(({ subject }) => subject));
    yield* subjects;
    if (!this.#entries.some(({ subject }) => subject.includes('/'))) return;
    for (const target of policies.keys()) {
      if (!subjects.has(target) && this.#nearest.of(target) !== null) yield target;
    }
    for (const target of this.#held) {
      const isMissing = !subjects.has(target) && !policies.has(target);
      if (isMissing && this.#nearest.of(target) !== null) yield target;
    }
  }

  #merge(target: string, base: Policy | undefined): Merged {
    const added = (this.#isMeant(target) ? this.#nearest.of(target) : null) ?? NOTHING;
    const there = base?.filters ?? [];
    const known = this.#merged.get(target);
    if (known !== undefined && known.base === base) return known;
    const policy: Policy = {
      ...(base ?? NOTHING),
      target,
      mitigations: [...(base?.mitigations ?? []), ...added.mitigations],
      filters: [...there, ...added.filters.filter((one) => !there.some((own) => isSame(own, one)))],
    };
    return { base, policy };
  }
}

const NOBODY: readonly string[] = [];
const NOTHING = { mitigations: [], baseline: [], geo: [], rules: [], filters: [] } as const;

/** Whoever has none of his own is judged by that of the longest prefix around him. */
function prefixPolicies(policies: ReadonlyMap<string, Policy>): () => NearestScope<Policy> {
  let prefixes: NearestScope<Policy> | null = null;
  return () => {
    prefixes ??= new NearestScope([...policies].filter(([name]) => name.includes('/')));
    return prefixes;
  };
}

function isSame(a: PolicyFilter, b: PolicyFilter): boolean {
  return a.type === b.type && a.port === b.port;
}

/** Those against the subject and against the prefixes around it. */
function around(subject: string, entries: readonly OverlayEntry[]): readonly OverlayEntry[] {
  return entries.filter(
    (one) =>
      one.subject === subject ||
      (one.subject.includes('/') && new NearestScope([[one.subject, 1]]).of(subject) !== null),
  );
}

function render(entries: readonly OverlayEntry[]): Added {
  const rendered = entries.flatMap(({ subject, actions, mode, safelist }) =>
    actions.map((action) => {
      // The same for the same, so that a restart finds in the kernel what it would put there.
      const hash = createHash('sha256').update(keyOf({ subject, action })).digest('hex');
      const ref = `${MITIGATION_REF}overlay/${hash.slice(0, 16)}`;
      return renderAction(action, { ref, mode, safelist });
    }),
  );
  return {
    mitigations: rendered.flatMap((one) => (one.part === 'mitigation' ? [one.value] : [])),
    filters: rendered.flatMap((one) => (one.part === 'filter' ? [one.value] : [])),
  };
}
