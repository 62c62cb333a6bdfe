import type { CounterChange, CounterRoom } from './driver.ts';

/** How much notice is taken of a subject. */
export interface Noted {
  /** What it gets, as parts of its threshold, fading. */
  readonly share: number;
  /** Readings since it got enough to be followed, and to be told. */
  readonly idle: number;
  readonly quiet: number;
  readonly told: boolean;
}

/** Addresses that get enough, or did lately, and all networks. */
export interface Attention {
  readonly followed: ReadonlyMap<string, Noted>;
  readonly networks: ReadonlyMap<string, Noted>;
}

/** Parts of thresholds that subjects got in one reading, by name. */
export interface Shares {
  /** Of addresses that are counted one by one, and of suspects. */
  readonly addresses: ReadonlyMap<string, number>;
  readonly networks: ReadonlyMap<string, number>;
  /** Addresses that are followed anyway, and are only noted while they get enough. */
  readonly always: ReadonlySet<string>;
}

/** The detector looks at nobody who gets less than an eighth, and forgets who gets less than a sixteenth. */
export const FOLLOW_SHARE = 1 / 64;
const TELL_SHARE = 1 / 16;
const HUSH_SHARE = TELL_SHARE / 2;
/** Readings below these until nothing is told, or nobody is followed any more. */
const QUIET = 20;
const IDLE = 40;
/** Of what went before, after one reading. */
const KEPT = 0.75;
/** So much more than another one a newcomer gets to take its place. */
const OUSTS = 2;

export const UNNOTED: Noted = { share: 0, idle: 0, quiet: 0, told: false };
export const INATTENTIVE: Attention = { followed: new Map(), networks: new Map() };

/** Who is followed and told from now on. Whoever gets more comes first where there is not room for all. Pure. */
export function attend(
  { followed, networks }: Attention,
  shares: Shares,
  room: CounterRoom,
): { readonly attention: Attention; readonly change: CounterChange } {
  const { always } = shares;
  const noted = noteAll(followed, shares.addresses);
  const around = noteAll(networks, shares.networks);
  const gone = [...noted].filter(([, { idle }]) => idle >= IDLE).map(([name]) => name);
  for (const name of gone) noted.delete(name);
  const comers = newcomers(noted, shares.addresses);
  gone.push(...admit(noted, comers, always, room.followed - always.size));
  const { hush, tell } = planTelling([noted, around], room.told);
  for (const name of gone) if (followed.get(name)?.told === true) hush.push(name);
  return {
    attention: { followed: noted, networks: around },
    change: {
      hush,
      forget: gone.filter((name) => !always.has(name)),
      follow: comers.map(([name]) => name).filter((name) => noted.has(name) && !always.has(name)),
      tell,
    },
  };
}

type Notes = Map<string, Noted>;
type Newcomer = readonly [name: string, share: number];

function noteAll(before: ReadonlyMap<string, Noted>, shares: ReadonlyMap<string, number>): Notes {
  const notes: Notes = new Map();
  for (const [name, { share, idle, quiet, told }] of before) {
    const now = shares.get(name) ?? 0;
    notes.set(name, {
      share: Math.max(now, share * KEPT),
      idle: now < FOLLOW_SHARE ? idle + 1 : 0,
      quiet: now < HUSH_SHARE ? quiet + 1 : 0,
      told,
    });
  }
  return notes;
}

/** Those who get the most first. */
function newcomers(noted: Notes, addresses: ReadonlyMap<string, number>): Newcomer[] {
  return [...addresses]
    .filter(([name, share]) => share >= FOLLOW_SHARE && !noted.has(name))
    .toSorted(([, a], [, b]) => b - a);
}

/** Takes in as many as there is room for, and answers who had to go. Who is followed anyway needs none. */
function admit(
  noted: Notes,
  comers: readonly Newcomer[],
  always: ReadonlySet<string>,
  room: number,
): string[] {
  const others = [...noted].filter(([name]) => !always.has(name));
  let free = room - others.length;
  const lacking = comers.filter(([name]) => !always.has(name)).length - free;
  const victims =
    lacking <= 0 ? [] : others.toSorted(([, a], [, b]) => b.share - a.share).slice(-lacking);
  const gone: string[] = [];
  for (const [name, share] of comers) {
    if (!always.has(name) && free > 0) free--;
    else if (!always.has(name)) {
      const victim = victims.pop();
      if (victim === undefined || victim[1].share * OUSTS > share) continue;
      noted.delete(victim[0]);
      gone.push(victim[0]);
    }
    noted.set(name, { ...UNNOTED, share });
  }
  return gone;
}

function planTelling(all: readonly Notes[], room: number): { hush: string[]; tell: string[] } {
  const entries = all.flatMap((notes) =>
    [...notes].map(([name, noted]) => ({ notes, name, noted })),
  );
  const hush = entries.filter(({ noted }) => noted.told && noted.quiet >= QUIET);
  const staying = entries.filter(({ noted }) => noted.told && noted.quiet < QUIET);
  const wanted = entries
    .filter(({ noted }) => !noted.told && noted.share >= TELL_SHARE)
    .toSorted((a, b) => b.noted.share - a.noted.share);
  const victims = staying.toSorted((a, b) => b.noted.share - a.noted.share);
  let free = room - staying.length;
  const tell: typeof entries = [];
  for (const one of wanted) {
    if (free > 0) free--;
    else {
      const victim = victims.pop();
      if (victim === undefined || victim.noted.share * OUSTS > one.noted.share) break;
      hush.push(victim);
    }
    tell.push(one);
  }
  for (const { notes, name, noted } of hush) notes.set(name, { ...noted, told: false });
  for (const { notes, name, noted } of tell) notes.set(name, { ...noted, told: true, quiet: 0 });
  const names = (some: typeof entries) => some.map(({ name }) => name);
  return { hush: names(hush), tell: names(tell) };
}
