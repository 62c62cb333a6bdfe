import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { FloodKind } from './frames.ts';
import type { FloodPlan } from './schedule.ts';

/** The traffic to one address, with its attack; null is no attack. */
export interface Target {
  readonly name: string;
  readonly address: string;
  readonly kind: FloodKind;
  readonly type: AttackType | null;
  readonly factor: number;
  /** Packets a second. */
  readonly threshold: number;
  /** Pulses of so many seconds, with as many between. */
  readonly pulse?: { readonly seconds: number; readonly times: number };
}

const KINDS: readonly (readonly [FloodKind, AttackType])[] = [
  ['udp', 'udp_flood'],
  ['syn', 'tcp_syn_flood'],
  ['ack', 'tcp_ack_flood'],
  ['icmp', 'icmp_flood'],
  ['fragments', 'ip_fragment_flood'],
  ['dns', 'dns_amplification'],
  ['ntp', 'ntp_amplification'],
  ['syn+udp', 'multi_vector'],
];
/** Small, so that a small machine floods many at once. */
const THRESHOLDS = [
  [1.2, 1000],
  [2, 1000],
  [10, 300],
] as const;
const FIRST_HOST = 130;
const NETWORKS = { 4: '203.0.113.', 6: '2001:db8:5::' } as const;

/** How often it can be sent, each time to addresses that nothing was sent to before. */
export const CAMPAIGNS = 3;
const HOSTS = 27;

/** Every vector at every strength in both families, and beside them what only looks like an attack. */
export function campaign(attempt = 0): Target[] {
  let host = FIRST_HOST + attempt * HOSTS;
  const both = (target: Omit<Target, 'name' | 'address'>, what: string): Target[] => {
    const number = host++;
    return ([4, 6] as const).map((family) => ({
      ...target,
      address: `${NETWORKS[family]}${number}`,
      name: `${what}, IPv${family}`,
    }));
  };
  const floods = THRESHOLDS.flatMap(([factor, threshold]) =>
    KINDS.flatMap(([kind, type]) =>
      both({ kind, type, factor, threshold }, `${kind} at ${factor} x`),
    ),
  );
  const pulse = { seconds: 2, times: 2 };
  return [
    ...floods,
    ...both({ kind: 'udp', type: 'udp_flood', factor: 3, threshold: 500, pulse }, 'pulses'),
    ...both({ kind: 'download', type: null, factor: 2, threshold: 1000 }, 'a download'),
    ...both({ kind: 'udp', type: null, factor: 0.85, threshold: 1000 }, 'players rushing in'),
  ];
}

/** Everything that may be sent in all. */
export function everyCampaign(): Target[] {
  return Array.from({ length: CAMPAIGNS }, (_, attempt) => campaign(attempt)).flat();
}

/** Within how many milliseconds a flood is to be known, by how many times its threshold it is. */
export function knownWithinMs(factor: number): number {
  return factor >= 2 ? 1500 : 3000;
}

export function scopesOf(targets: readonly Target[], holdMs: number): WatchScope[] {
  const common = { bps: 1e9, holdMs, mitigation: 'off', safelist: [], subject: true } as const;
  // What many get together is the prefixes' own matter.
  const prefixes = ['203.0.113.0/24', '2001:db8:5::/48'].map(
    (scope): WatchScope => ({ ...common, scope, pps: 10_000_000, bps: 1e12 }),
  );
  return [
    ...prefixes,
    ...targets.map(
      ({ address, threshold }): WatchScope => ({ ...common, scope: address, pps: threshold }),
    ),
  ];
}

/** Floods of one kind begin together, those of the next so much later. */
export function plansOf(
  targets: readonly Target[],
  wire: Pick<FloodPlan, 'device' | 'ifindex' | 'to'>,
  seconds: number,
  apartSeconds = 0,
): FloodPlan[] {
  const kinds = [...new Set(targets.map(({ kind }) => kind))];
  return targets.map(({ name, address, kind, factor, threshold, pulse }) => ({
    ...wire,
    name,
    startSeconds: kinds.indexOf(kind) * apartSeconds,
    kind,
    target: address,
    pps: factor * threshold,
    ...(pulse === undefined
      ? { seconds }
      : { seconds: pulse.seconds, times: pulse.times, pauseSeconds: pulse.seconds }),
  }));
}
