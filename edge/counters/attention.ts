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

export interface Attention {
  readonly followed: ReadonlyMap<string, Noted>;
  readonly networks: ReadonlyMap<string, Noted>;
}

/** Parts of thresholds that subjects got in one reading, by name. */
export interface Shares {
  /** Of addresses that are counted one by one, and of suspects. */
  readonly addresses: ReadonlyMap<string, number>;
  readonly networks: ReadonlyMap<string, number>;
  /** Addresses that are followed whatever they get. */
  readonly always: ReadonlySet<string>;
}

/** The detector looks at nobody who gets less than an eighth, and forgets who gets less than a sixteenth. */
const FOLLOW = 1 / 64;
const TELL = 1 / 16;
const HUSH = TELL / 2;
/** Readings below these until nothing is told, or nobody is followed any more. */
const QUIET = 20;
const IDLE = 40;
/** Of what went before, after one reading. */
const KEPT = 0.75;
/** So much more than another one a newcomer gets to take its place. */
const OUSTS = 2;

export const INATTENTIVE: Attention = { followed: new Map(), networks: new Map() };

/** Who is followed and told from now on. Whoever gets more comes first where there is not room for all. Pure. */
export function attend(
  { followed, networks }: Attention,
  shares: Shares,
  room: CounterRoom,
): { readonly attention: Attention; readonly change: CounterChange } {
  const noted = noteAll(followed, shares.addresses);
  const around = noteAll(networks, shares.networks);
  const forget = [...noted]
    .filter(([name, { idle }]) => idle >= IDLE && !shares.always.has(name))
    .map(([name]) => name);
  for (const name of forget) noted.delete(name);
  const follow = newcomers(noted, shares);
  forget.push(...admit(noted, follow, shares.always, room.followed));
  const { hush, tell } = planTelling([noted, around], room.told);
  const gone = new Set(forget);
  return {
    attention: { followed: noted, networks: around },
    change: {
      hush: hush.filter((name) => !gone.has(name)),
      forget: forget.filter((name) => followed.has(name)),
      follow: follow.map(([name]) => name).filter((name) => noted.has(name)),
      tell,
    },
  };
}

type Notes = Map<string, Noted>;
/** The most deserving first. */
type Newcomer = readonly [name: string, share: number];

function noteAll(before: ReadonlyMap<string, Noted>, shares: ReadonlyMap<string, number>): Notes {
  const notes: Notes = new Map();
  for (const [name, { share, idle, quiet, told }] of before) {
    const now = shares.get(name) ?? 0;
    notes.set(name, {
      share: Math.max(now, share * KEPT),
      idle: now < FOLLOW ? idle + 1 : 0,
      quiet: now < HUSH ? quiet + 1 : 0,
      told,
    });
  }
  return notes;
}

function newcomers(noted: Notes, { addresses, always }: Shares): Newcomer[] {
  const first = [...always]
    .filter((name) => !noted.has(name))
    .map((name): Newcomer => [name, addresses.get(name) ?? 0]);
  const others = [...addresses].filter(
    ([name, share]) => share >= FOLLOW && !noted.has(name) && !always.has(name),
  );
  return [...first, ...others.toSorted(([, a], [, b]) => b - a)];
}

/** Takes in as many as there is room for, and answers who had to go. */
function admit(
  noted: Notes,
  comers: readonly Newcomer[],
  always: ReadonlySet<string>,
  room: number,
): string[] {
  const lacking = noted.size + comers.length - room;
  const victims =
    lacking <= 0
      ? []
      : [...noted]
          .filter(([name]) => !always.has(name))
          .toSorted(([, a], [, b]) => a.share - b.share)
          .slice(0, lacking);
  const gone: string[] = [];
  for (const [name, share] of comers) {
    if (noted.size >= room) {
      const victim = victims[gone.length];
      if (victim === undefined) break;
      if (!always.has(name) && victim[1].share * OUSTS > share) break;
      noted.delete(victim[0]);
      gone.push(victim[0]);
    }
    noted.set(name, { share, idle: 0, quiet: 0, told: false });
  }
  return gone;
}

function planTelling(all: readonly Notes[], room: number): Pick<CounterChange, 'hush' | 'tell'> {
  const entries = all.flatMap((notes) =>
    [...notes].map(([name, noted]) => ({ notes, name, noted })),
  );
  const hush = entries.filter(({ noted }) => noted.told && noted.quiet >= QUIET);
  const staying = entries.filter(({ noted }) => noted.told && noted.quiet < QUIET);
  const wanted = entries
    .filter(({ noted }) => !noted.told && noted.share >= TELL)
    .toSorted((a, b) => b.noted.share - a.noted.share);
  const lacking = Math.max(0, staying.length + wanted.length - room);
  const victims =
    lacking === 0
      ? []
      : staying.toSorted((a, b) => a.noted.share - b.noted.share).slice(0, lacking);
  let free = room - staying.length;
  const tell: typeof entries = [];
  for (const one of wanted) {
    if (free === 0) {
      const victim = victims.shift();
      if (victim === undefined || victim.noted.share * OUSTS > one.noted.share) break;
      hush.push(victim);
    } else {
      free--;
    }
    tell.push(one);
  }
  for (const { notes, name, noted } of hush) notes.set(name, { ...noted, told: false });
  for (const { notes, name, noted } of tell) notes.set(name, { ...noted, told: true, quiet: 0 });
  const names = (some: typeof entries) => some.map(({ name }) => name);
  return { hush: names(hush), tell: names(tell) };
}
