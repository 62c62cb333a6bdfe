import {
  ASKED,
  type AttackVector,
  type DrawnAttack,
  FLOOD_PPS,
  FLOOD_SECONDS,
  GAME,
  WEB,
} from '../attacks/attack.ts';
import type { FloodPlan } from '../schedule.ts';
import type { ClientsPlan } from './clients.ts';

const BUSY_HOST = 58;
const OLD_HOSTS = [10, 11, 12, 13];
const KEPT_HOSTS = [20, 21, 22];
const STRANGERS = 250;

/** The place that is attacked in one run: nothing else was sent to this prefix before. */
export interface Place {
  readonly family: 4 | 6;
  readonly index: number;
  /** The holding. */
  readonly prefix: string;
  /** The network that a carpet is spread over, within the holding. */
  readonly carpet: string;
  readonly address: string;
  readonly secondAddress: string;
}

export function placeOf(index: number, family: 4 | 6): Place {
  if (family === 4) {
    const net = `10.${200 + (index >> 8)}.${index & 255}`;
    const carpet = `${net}.0/24`;
    const [address, secondAddress] = [`${net}.10`, `${net}.11`];
    return { family, index, prefix: carpet, carpet, address, secondAddress };
  }
  const net = `2001:db8:${(0x1000 + index).toString(16)}:`;
  const [address, secondAddress] = [`${net}:10`, `${net}:11`];
  return { family, index, prefix: `${net}:/48`, carpet: `${net}:/64`, address, secondAddress };
}

/** Sources of clients, which no other run has. */
function sourceOf({ family, index }: Place, net: 0 | 1 | 2, host: number): string {
  if (family === 6)
    return `2001:db8:${(0x64 + net).toString(16)}:${index.toString(16)}::${host.toString(16)}`;
  const third = net === 2 ? host >> 8 : index & 255;
  const second = net === 2 ? 96 + (index % 16) : 64 + 2 * (index >> 8) + net;
  return `100.${second}.${third}.${host & 255}`;
}

/** Clients beside an attack, at the attacked address. */
export function clientsPlan({ crowd, busyClientPps }: DrawnAttack, place: Place): ClientsPlan {
  const { address } = place;
  const from = (hosts: readonly number[]): string[] =>
    hosts.map((host) => sourceOf(place, 0, host));
  const count = (length: number, net: 1 | 2): string[] =>
    Array.from({ length }, (_, host) => sourceOf(place, net, host + 1));
  return {
    address,
    game: GAME,
    web: WEB,
    asked: ASKED,
    old: from(OLD_HOSTS),
    kept: from(KEPT_HOSTS),
    busy:
      busyClientPps === undefined
        ? null
        : { source: sourceOf(place, 0, BUSY_HOST), pps: busyClientPps },
    strangers: count(STRANGERS, 1),
    crowd: crowd === undefined ? null : { ...crowd, sources: count(crowd.sources, 2) },
  };
}

/** The floods of an attack; each vector has a mark of its own. */
export function floodPlans(
  attack: DrawnAttack,
  place: Place,
  wire: Pick<FloodPlan, 'device' | 'ifindex' | 'to'>,
): FloodPlan[] {
  return attack.vectors.map((vector, index) => {
    const { sources, frames, ...own } = vector;
    const { pps = FLOOD_PPS, fromPps = pps, seconds = FLOOD_SECONDS, times = 1 } = own;
    const forged = forgedOf(sources, place);
    return {
      ...wire,
      ...own,
      name: `v${index + 1}`,
      mark: index + 1,
      pps,
      seconds,
      target: targetOf(attack, vector, place),
      frames: frames ?? Math.ceil(((fromPps + pps) / 2) * seconds * times),
      ...(forged === undefined ? {} : { sources: forged }),
    };
  });
}

function targetOf(
  { over = 'address' }: DrawnAttack,
  { toSecondAddress }: AttackVector,
  { address, secondAddress, carpet, prefix }: Place,
): string {
  if (over === 'prefix') return carpet;
  if (over === 'sites') return prefix;
  return toSecondAddress === true ? secondAddress : address;
}

function forgedOf(sources: AttackVector['sources'], place: Place): FloodPlan['sources'] {
  if (typeof sources !== 'object') return sources;
  const hosts = sources.clients === 'old' ? OLD_HOSTS : KEPT_HOSTS;
  return hosts.slice(0, sources.count).map((host) => sourceOf(place, 0, host));
}
