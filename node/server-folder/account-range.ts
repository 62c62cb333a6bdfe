import { createHash } from 'node:crypto';

/** Accounts of a host by their numbers: uids, and the gids of the same numbers. Both ends are included. */
export interface AccountRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The accounts that servers run as, one each. No name service gives numbers below 200000 to games: people are below
 * 65536, and ranges for containers of people (`/etc/subuid`) begin at 100000. systemd-nspawn begins at 524288.
 */
export const DEFAULT_ACCOUNTS: AccountRange = { first: 200_000, last: 524_287 };

/** Below are people, system accounts and those that systemd makes up. */
const LOWEST = 1_000;
/** The largest that programs which take an account for a signed number can hold. */
const HIGHEST = 2_147_483_647;
/** systemd's DynamicUser, `nobody`, and the number that 16-bit programs take for "none". */
const RESERVED: AccountRange = { first: 61_184, last: 65_535 };

/**
 * The accounts without rights that processes of the node take. Each has its own, because processes of one account may send
 * each other signals. They are within the reserved accounts, so no server has one of them.
 */
export const UNPRIVILEGED_ACCOUNTS = { sftp: 65_534, converter: 65_532 } as const;

/** Parses `FIRST-LAST`. Throws an error that says what is wrong. */
export function parseAccounts(text: string): AccountRange {
  const [, from, to] = /^(\d{1,10})-(\d{1,10})$/.exec(text) ?? [];
  if (from === undefined || to === undefined)
    throw new Error(`${JSON.stringify(text.slice(0, 40))} is no range such as 200000-265535`);
  return checkAccounts({ first: Number(from), last: Number(to) });
}

/** Throws an error that says what is wrong. */
export function checkAccounts(range: AccountRange): AccountRange {
  const { first, last } = range;
  if (first > last) throw new Error(`the range ${first}-${last} ends before it begins`);
  if (first < LOWEST || last > HIGHEST)
    throw new Error(`accounts of servers are within ${LOWEST} and ${HIGHEST}`);
  if (overlaps(range, RESERVED))
    throw new Error(`${RESERVED.first}-${RESERVED.last} belong to the system: leave them out`);
  return range;
}

/** The files in which a host names its accounts, and those that it hands out to containers of people. */
export interface AccountFiles {
  /** `/etc/passwd` and `/etc/group`, one after the other. */
  readonly named: string;
  /** `/etc/subuid` and `/etc/subgid`, one after the other. */
  readonly subordinate: string;
}

/** The ranges that these files give to others; lines that are none are passed over. */
export function takenRanges({ named, subordinate }: AccountFiles): AccountRange[] {
  const accounts = named.split('\n').flatMap((line) => {
    const number = numberOf(line.split(':')[2]);
    return number === null ? [] : [{ first: number, last: number }];
  });
  const ranges = subordinate.split('\n').flatMap((line) => {
    const [, from, size] = line.split(':').map(numberOf);
    if (from === undefined || from === null || !size) return [];
    return [{ first: from, last: from + size - 1 }];
  });
  return [...accounts, ...ranges];
}

/**
 * Chooses the account of a server: by its uuid, so that it is mostly the same again where everything was forgotten, and
 * rarely that of another node on the host. Returns null if all of the range are in use or taken.
 */
export function chooseAccount(
  uuid: string,
  range: AccountRange,
  { used, taken }: { readonly used: ReadonlySet<number>; readonly taken: readonly AccountRange[] },
): number | null {
  const { first, last } = range;
  const size = last - first + 1;
  const start = createHash('sha256').update(uuid).digest().readUInt32BE() % size;
  for (let tried = 0; tried < size; tried += 1) {
    const account = first + ((start + tried) % size);
    const foreign = taken.find((one) => one.first <= account && account <= one.last);
    if (foreign !== undefined) {
      // The rest of that range is passed over at once.
      tried += Math.min(foreign.last, last) - account;
      continue;
    }
    if (!used.has(account)) return account;
  }
  return null;
}

export function isTaken(account: number, taken: readonly AccountRange[]): boolean {
  return taken.some(({ first, last }) => first <= account && account <= last);
}

export function overlaps(one: AccountRange, other: AccountRange): boolean {
  return one.first <= other.last && other.first <= one.last;
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
