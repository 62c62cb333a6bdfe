import { decide, type EdgeView } from '@portcullis/core/firewall/decide/decide.ts';
import { explainVerdict } from '@portcullis/core/firewall/decide/explain.ts';
import { FIRST_PACKET } from '@portcullis/core/firewall/decide/first-packet.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { BITS, type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { formatNetwork, networkOf } from '@portcullis/core/net/cidr.ts';
import { policyFingerprint } from '@portcullis/link/messages/policy-fingerprint.ts';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import type { Applied } from '../reconcile/reconcile.ts';

const MAX_LOOKUPS = 10_000;

interface Live {
  readonly policy: Policy;
  readonly generation: number;
}

/** The lengths of prefixes with a policy, longest first. */
type Lengths = Readonly<Record<Family, readonly number[]>>;

/** The policies in the kernel: the applied ones, and the previous ones of refused targets. */
export class LivePolicies {
  #desired: Desired | null = null;
  /** Targets with an older policy. Null if the kernel has none for the target. */
  #behind: ReadonlyMap<string, Live | null> = new Map();
  #lengths: Lengths | null = null;

  /** Records a successful apply. */
  set(desired: Desired, applied: Pick<Applied, 'refused'>): void {
    this.#behind = new Map(
      applied.refused.map(({ target, goodGeneration }) => {
        const before = goodGeneration === 0 ? null : this.#of(target);
        return [target, before && { ...before, generation: goodGeneration }];
      }),
    );
    if (desired.policies !== this.#desired?.policies || this.#behind.size > 0) this.#lengths = null;
    this.#desired = desired;
  }

  /** The table was removed. */
  clear(): void {
    this.#desired = null;
    this.#behind = new Map();
    this.#lengths = null;
  }

  /** A snapshot for many evaluations. Null before the first apply. */
  view(localAddresses: readonly string[]): EdgeView | null {
    const desired = this.#desired;
    if (desired === null) return null;
    const { settings, sourceSets } = desired;
    const known = new Map<string, Policy | null>();
    const lookup = (address: string): Policy | null => {
      let policy = known.get(address);
      if (policy === undefined) {
        if (known.size >= MAX_LOOKUPS) known.clear();
        policy = this.#policyFor(address)?.policy ?? null;
        known.set(address, policy);
      }
      return policy;
    };
    return { settings: { ...settings, localAddresses }, policies: { lookup }, sourceSets };
  }

  /** The verdict for a first packet. Null before the first apply. */
  explain(
    packet: Packet,
    localAddresses: readonly string[],
  ): Omit<LiveVerdict, 'mode' | 'kernel'> | null {
    const desired = this.#desired;
    if (desired === null) return null;
    const live = this.#policyFor(packet.destination);
    const policies = { lookup: () => live?.policy ?? null };
    const { settings, sourceSets } = desired;
    const edge = { settings: { ...settings, localAddresses }, policies, sourceSets };
    const verdict = decide(edge, packet, FIRST_PACKET);
    return {
      generation: live?.generation ?? desired.generation,
      verdict,
      explanation: explainVerdict(verdict, live?.policy ?? null),
      target: live?.policy.target ?? null,
      fingerprint: live === null ? null : policyFingerprint(live.policy),
    };
  }

  /** The address's own policy, else that of the longest prefix that has one. */
  #policyFor(destination: string): Live | null {
    const address = parseAddress(destination);
    if (!address.ok) return null;
    for (const length of this.#lengthsOf(address.value.family)) {
      const live = this.#of(formatNetwork(networkOf(address.value, length)));
      if (live !== null) return live;
    }
    return null;
  }

  #lengthsOf(family: Family): readonly number[] {
    if (this.#lengths === null) {
      const lengths = { 4: new Set([BITS[4]]), 6: new Set([BITS[6]]) };
      const add = (target: string): void => {
        const slash = target.indexOf('/');
        if (slash === -1) return;
        lengths[target.includes(':') ? 6 : 4].add(Number(target.slice(slash + 1)));
      };
      for (const target of this.#desired?.policies.keys() ?? []) add(target);
      for (const target of this.#behind.keys()) add(target);
      const sorted = (one: Set<number>): number[] => [...one].toSorted((a, b) => b - a);
      this.#lengths = { 4: sorted(lengths[4]), 6: sorted(lengths[6]) };
    }
    return this.#lengths[family];
  }

  #of(target: string): Live | null {
    const behind = this.#behind.get(target);
    if (behind !== undefined) return behind;
    const policy = this.#desired?.policies.get(target);
    return policy === undefined ? null : { policy, generation: this.#desired?.generation ?? 0 };
  }
}
