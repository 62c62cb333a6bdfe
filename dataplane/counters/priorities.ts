import type { CounterChange, CounterCapacity } from './driver.ts';

/** The priority of a subject. */
export interface SubjectPriority {
  /** Its traffic as a share of its threshold, decaying. */
  readonly share: number;
  /** Readings since the share was high enough to follow it, and to count its vectors. */
  readonly idle: number;
  readonly quiet: number;
  readonly countsVectors: boolean;
}

/** Addresses that have or recently had enough traffic, and all networks. */
export interface Priorities {
  readonly followed: ReadonlyMap<string, SubjectPriority>;
  readonly networks: ReadonlyMap<string, SubjectPriority>;
}

/** Traffic of one reading as shares of thresholds, by name. */
export interface Shares {
  /** Followed addresses and suspects. */
  readonly addresses: ReadonlyMap<string, number>;
  readonly networks: ReadonlyMap<string, number>;
  /** Addresses that are always followed. They have a priority only while they have enough traffic. */
  readonly always: ReadonlySet<string>;
}

/** The detector ignores subjects below an eighth of the threshold, and forgets those below a sixteenth. */
export const FOLLOW_SHARE = 1 / 64;
const START_VECTORS_SHARE = 1 / 16;
const STOP_VECTORS_SHARE = START_VECTORS_SHARE / 2;
/** Readings below these shares until vectors are no longer counted, and until an address is no longer followed. */
const QUIET_READINGS = 20;
const IDLE_READINGS = 40;
/** The part of the previous share that remains after a reading. */
const DECAY = 0.75;
/** More busy addresses than these are the attack of a network, whose packets are all counted. */
const MAX_FOLLOWED = 4_096;
/** A new subject replaces another one if its share is this many times larger. */
const REPLACEMENT_RATIO = 2;

export const LOWEST_PRIORITY: SubjectPriority = {
  share: 0,
  idle: 0,
  quiet: 0,
  countsVectors: false,
};
export const NO_PRIORITIES: Priorities = { followed: new Map(), networks: new Map() };

/**
 * Decides which addresses to follow and which vectors to count. If the capacity is exceeded, larger shares have
 * priority. Pure.
 */
export function updatePriorities(
  { followed, networks }: Priorities,
  shares: Shares,
  capacity: CounterCapacity,
): { readonly priorities: Priorities; readonly change: CounterChange } {
  const { always } = shares;
  const addresses = decayed(followed, shares.addresses);
  const allNetworks = decayed(networks, shares.networks);
  const unfollow: string[] = [];
  for (const [name, { idle }] of addresses) if (idle >= IDLE_READINGS) unfollow.push(name);
  for (const name of unfollow) addresses.delete(name);
  const candidates = newCandidates(addresses, shares.addresses);
  const room = Math.min(MAX_FOLLOWED, capacity.followed - always.size);
  if (candidates.length > 0) unfollow.push(...admit(addresses, candidates, always, room));
  const { stop: stopVectors, start: startVectors } = planVectors(
    [addresses, allNetworks],
    capacity.vectors,
  );
  for (const name of unfollow)
    if (followed.get(name)?.countsVectors === true) stopVectors.push(name);
  return {
    priorities: { followed: addresses, networks: allNetworks },
    change: {
      stopVectors,
      unfollow: unfollow.filter((name) => !always.has(name)),
      follow: candidates
        .map(([name]) => name)
        .filter((name) => addresses.has(name) && !always.has(name)),
      startVectors,
    },
  };
}

type PriorityMap = Map<string, SubjectPriority>;
type Candidate = readonly [name: string, share: number];

function decayed(
  before: ReadonlyMap<string, SubjectPriority>,
  shares: ReadonlyMap<string, number>,
): PriorityMap {
  const priorities: PriorityMap = new Map();
  for (const [name, { share, idle, quiet, countsVectors }] of before) {
    const now = shares.get(name) ?? 0;
    priorities.set(name, {
      share: Math.max(now, share * DECAY),
      idle: now < FOLLOW_SHARE ? idle + 1 : 0,
      quiet: now < STOP_VECTORS_SHARE ? quiet + 1 : 0,
      countsVectors,
    });
  }
  return priorities;
}

/** Ordered by share, largest first. */
function newCandidates(followed: PriorityMap, addresses: ReadonlyMap<string, number>): Candidate[] {
  const candidates: Candidate[] = [];
  for (const one of addresses)
    if (one[1] >= FOLLOW_SHARE && !followed.has(one[0])) candidates.push(one);
  return candidates.toSorted(([, a], [, b]) => b - a);
}

/**
 * Follows as many candidates as fit, and returns the addresses that they replace. Addresses that are always followed
 * need no capacity.
 */
function admit(
  followed: PriorityMap,
  candidates: readonly Candidate[],
  always: ReadonlySet<string>,
  capacity: number,
): string[] {
  const others = [...followed].filter(([name]) => !always.has(name));
  let free = capacity - others.length;
  const excess = candidates.filter(([name]) => !always.has(name)).length - free;
  const victims =
    excess <= 0 ? [] : others.toSorted(([, a], [, b]) => b.share - a.share).slice(-excess);
  const replaced: string[] = [];
  for (const [name, share] of candidates) {
    if (!always.has(name) && free > 0) free--;
    else if (!always.has(name)) {
      const victim = victims.pop();
      if (victim === undefined || victim[1].share * REPLACEMENT_RATIO > share) continue;
      followed.delete(victim[0]);
      replaced.push(victim[0]);
    }
    followed.set(name, { ...LOWEST_PRIORITY, share });
  }
  return replaced;
}

interface Entry {
  readonly notes: PriorityMap;
  readonly name: string;
  readonly noted: SubjectPriority;
}

function planVectors(
  all: readonly PriorityMap[],
  capacity: number,
): { stop: string[]; start: string[] } {
  const [stop, staying, wanted]: [Entry[], Entry[], Entry[]] = [[], [], []];
  // Thousands of subjects, four times a second: those that stay as they are cost nothing.
  for (const notes of all)
    for (const [name, noted] of notes) {
      if (noted.countsVectors)
        (noted.quiet >= QUIET_READINGS ? stop : staying).push({ notes, name, noted });
      else if (noted.share >= START_VECTORS_SHARE) wanted.push({ notes, name, noted });
    }
  if (stop.length + wanted.length === 0) return { stop: [], start: [] };
  wanted.sort((a, b) => b.noted.share - a.noted.share);
  const victims = staying.toSorted((a, b) => b.noted.share - a.noted.share);
  let free = capacity - staying.length;
  const start: Entry[] = [];
  for (const one of wanted) {
    if (free > 0) free--;
    else {
      const victim = victims.pop();
      if (victim === undefined || victim.noted.share * REPLACEMENT_RATIO > one.noted.share) break;
      stop.push(victim);
    }
    start.push(one);
  }
  for (const { notes, name, noted } of stop) notes.set(name, { ...noted, countsVectors: false });
  for (const { notes, name, noted } of start)
    notes.set(name, { ...noted, countsVectors: true, quiet: 0 });
  const names = (some: readonly Entry[]) => some.map(({ name }) => name);
  return { stop: names(stop), start: names(start) };
}
