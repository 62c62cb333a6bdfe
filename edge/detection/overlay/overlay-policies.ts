import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import { createHash } from 'node:crypto';
import { renderAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import {
  MITIGATION_REF,
  type Policy,
  type PolicyFilter,
} from '@portcullis/core/firewall/policy.ts';
import { NearestScope } from '@portcullis/core/net/nearest-scope.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';
import { keyOf } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { OverlayEntry } from './overlay.ts';

/** The part that is added to a policy. */
type Added = Pick<Policy, 'mitigations' | 'filters'>;

interface Merged {
  readonly base: Policy | undefined;
  readonly policy: Policy;
}

/**
 * Adds the overlay's mitigations to the desired policies. Unchanged policies stay the same objects, so that their
 * compiled form stays valid. Costs nothing while the overlay is empty.
 */
export class OverlayPolicies {
  #entries: readonly OverlayEntry[] = [];
  /** The mitigations of the nearest subject and of the subjects that contain it. */
  #nearest = new NearestScope<Added & { readonly subject: string }>([]);
  #merged = new Map<string, Merged>();
  /** The holdings, and the holding of each address. */
  #held: readonly string[] = [];
  #holding = new NearestScope<string>([]);

  /** `held`: networks with a holding of their own. A mitigation of a containing prefix does not apply to them. */
  apply(
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
      if (base !== undefined && !this.#isCovered(target)) continue;
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
        const all = entriesCovering(subject, entries);
        const own = all.filter((one) => holder(one.subject) === holder(subject));
        return [subject, { subject, ...render(own) }] as const;
      }),
    );
    this.#merged.clear();
  }

  /** The target belongs to the same holding as the attacked subject. */
  #isCovered(target: string): boolean {
    const nearest = this.#nearest.of(target);
    return nearest !== null && this.#holding.of(nearest.subject) === this.#holding.of(target);
  }

  /**
   * The subjects, the targets inside them with a policy of their own (the prefix's policy does not apply to them) and
   * the holdings inside them (it would apply to them).
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
    const added = (this.#isCovered(target) ? this.#nearest.of(target) : null) ?? EMPTY_POLICY;
    const there = base?.filters ?? [];
    const known = this.#merged.get(target);
    if (known !== undefined && known.base === base) return known;
    const policy: Policy = {
      ...(base ?? EMPTY_POLICY),
      target,
      mitigations: [...(base?.mitigations ?? []), ...added.mitigations],
      filters: [...there, ...added.filters.filter((one) => !there.some((own) => isSame(own, one)))],
    };
    return { base, policy };
  }
}

const NOBODY: readonly string[] = [];

/** An address without a policy of its own uses that of the longest prefix that contains it. */
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

/** The entries of the subject and of the prefixes that contain it. */
function entriesCovering(
  subject: string,
  entries: readonly OverlayEntry[],
): readonly OverlayEntry[] {
  return entries.filter(
    (one) =>
      one.subject === subject ||
      (one.subject.includes('/') && new NearestScope([[one.subject, 1]]).of(subject) !== null),
  );
}

function render(entries: readonly OverlayEntry[]): Added {
  const rendered = entries.flatMap(({ subject, actions, mode, safelist }) =>
    actions.map((action) => {
      // A stable name, so that a restarted agent recognises its mitigations in the kernel.
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
