import { decide } from '@portcullis/core/firewall/decide.ts';
import { explainVerdict } from '@portcullis/core/firewall/explain.ts';
import { FIRST_PACKET } from '@portcullis/core/firewall/first-packet.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { BITS, parseAddress } from '@portcullis/core/net/address.ts';
import { formatNetwork, networkOf } from '@portcullis/core/net/cidr.ts';
import { policyFingerprint } from '@portcullis/link/fingerprint.ts';
import type { LiveVerdict } from '@portcullis/link/messages.ts';
import type { Desired } from './desired.ts';
import type { Applied } from './reconcile.ts';

interface Live {
  readonly policy: Policy;
  readonly generation: number;
}

/** What the kernel judges by, as policies: what was applied, and of refused targets what they had before. */
export class LivePolicies {
  #desired: Desired | null = null;
  /** Targets that are not at what is desired; null: the kernel has nothing of it. */
  #behind: ReadonlyMap<string, Live | null> = new Map();

  /** The kernel has this now. */
  keep(desired: Desired, applied: Pick<Applied, 'refused'>): void {
    this.#behind = new Map(
      applied.refused.map(({ target, goodGeneration }) => {
        const before = goodGeneration === 0 ? null : this.#of(target);
        return [target, before && { ...before, generation: goodGeneration }];
      }),
    );
    this.#desired = desired;
  }

  /** The kernel has nothing of ours any more. */
  forget(): void {
    this.#desired = null;
    this.#behind = new Map();
  }

  /** What happens to a first packet, by these policies. Null: nothing was applied yet. */
  explain(
    packet: Packet,
    localAddresses: readonly string[],
  ): Omit<LiveVerdict, 'mode' | 'kernel'> | null {
    const desired = this.#desired;
    if (desired === null) return null;
    const live = this.#judging(packet.destination);
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
  #judging(destination: string): Live | null {
    const address = parseAddress(destination);
    if (!address.ok) return null;
    for (let length = BITS[address.value.family]; length >= 0; length -= 1) {
      const live = this.#of(formatNetwork(networkOf(address.value, length)));
      if (live !== null) return live;
    }
    return null;
  }

  #of(target: string): Live | null {
    const behind = this.#behind.get(target);
    if (behind !== undefined) return behind;
    const policy = this.#desired?.policies.get(target);
    return policy === undefined ? null : { policy, generation: this.#desired?.generation ?? 0 };
  }
}
