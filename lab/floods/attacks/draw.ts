import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import { type Chance, chanceOf } from '../../detection/chance.ts';
import { type AttackVector, type DrawnAttack, GAME, WEB } from './attack.ts';

/** Attacks of a night. */
export const DRAWN_ATTACKS = 20;

const KINDS: readonly (readonly [AttackVector['kind'], AttackType])[] = [
  ['udp', 'udp_flood'],
  ['syn', 'tcp_syn_flood'],
  ['syn-ack', 'tcp_syn_ack_flood'],
  ['ack', 'tcp_ack_flood'],
  ['rst', 'tcp_rst_flood'],
  ['fin-ack', 'tcp_ack_flood'],
  ['icmp', 'icmp_flood'],
  ['gre', 'gre_flood'],
  ['esp', 'other_flood'],
  ['fragments', 'ip_fragment_flood'],
  ['dns', 'dns_amplification'],
  ['ntp', 'ntp_amplification'],
];
const PORTS: readonly NonNullable<AttackVector['ports']>[] = [[GAME], [WEB], 'random', [0]];
const RATES = [2_600, 4_000, 6_000, 9_000];
const BYTES: readonly NonNullable<AttackVector['bytes']>[] = [0, 32, [1, 200], [1, 1200]];
const REPEATED_FRAMES = 3_000;
const FORGED_SHARE = 0.1;
const CARPET_SHARE = 0.15;
const REPEATED_SHARE = 0.25;

/** An attack by its seed alone: the same for the same seed, in words as it was drawn. One to three vectors. */
export function drawAttack(seed: number): DrawnAttack {
  const chance = chanceOf(seed);
  const count = 1 + Math.floor(chance() ** 2 * 3);
  const kinds = distinct(chance, count);
  const course = pick(chance, ['together', 'joins', 'pulses', 'ramp'] as const);
  const vectors = kinds.map(([kind], index) => ({
    ...drawVector(chance, kind),
    ...courseOf(course, index),
  }));
  const over = chance() < CARPET_SHARE ? 'prefix' : 'address';
  const [only, ...others] = kinds;
  return {
    name: `${seed}: ${vectors.map(describe).join(' + ')}, ${course}${over === 'prefix' ? ', carpet' : ''}`,
    type: only === undefined || others.length > 0 ? 'multi_vector' : only[1],
    over,
    vectors,
  };
}

/** Twenty attacks, the seeds of which follow each other. */
export function drawAttacks(seed: number): readonly DrawnAttack[] {
  return Array.from({ length: DRAWN_ATTACKS }, (_, index) => drawAttack(seed + index));
}

function distinct(chance: Chance, count: number): (typeof KINDS)[number][] {
  const left = [...KINDS];
  return Array.from({ length: count }, () =>
    left.splice(Math.floor(chance() * left.length), 1),
  ).flat();
}

function drawVector(chance: Chance, kind: AttackVector['kind']): AttackVector {
  const isTcp = !['udp', 'dns', 'ntp', 'icmp', 'gre', 'esp', 'fragments'].includes(kind);
  const ports = kind === 'udp' || isTcp ? { ports: pick(chance, PORTS) } : {};
  const bytes = kind === 'udp' ? { bytes: pick(chance, BYTES) } : {};
  const pps = pick(chance, RATES);
  const frames = chance() < REPEATED_SHARE ? { frames: REPEATED_FRAMES } : {};
  return { kind, ...ports, ...bytes, ...sourcesOf(chance, kind), ...frames, pps };
}

function sourcesOf(chance: Chance, kind: AttackVector['kind']): Pick<AttackVector, 'sources'> {
  const share = chance();
  if (share > 2 * FORGED_SHARE) return {};
  if (share > FORGED_SHARE) return { sources: 2 + Math.floor(chance() * 30) };
  const count = 1 + Math.floor(chance() * 3);
  return { sources: { clients: kind === 'udp' ? 'old' : 'kept', count } };
}

/** When a vector of an attack is sent. */
function courseOf(
  course: 'together' | 'joins' | 'pulses' | 'ramp',
  index: number,
): Omit<AttackVector, 'kind'> {
  if (course === 'joins') return { startSeconds: 3 * index, seconds: 6 };
  if (course === 'pulses') return { seconds: 2, pauseSeconds: 1 + index, times: 3 };
  if (course === 'ramp') return { fromPps: 500, seconds: 9 };
  return { seconds: 6 };
}

function pick<T>(chance: Chance, from: readonly T[]): T {
  const one = from[Math.floor(chance() * from.length)];
  if (one === undefined) throw new Error('nothing to draw from');
  return one;
}

function describe({ kind, pps, ports, sources, frames }: AttackVector): string {
  const to =
    ports === undefined ? '' : ` to ${ports === 'random' ? 'random ports' : ports.join(' ')}`;
  const from =
    sources === undefined
      ? ''
      : typeof sources === 'number'
        ? ` from ${sources} sources`
        : ` from ${sources.count} players`;
  return `${kind} ${pps}/s${to}${from}${frames === undefined ? '' : ' repeated'}`;
}
