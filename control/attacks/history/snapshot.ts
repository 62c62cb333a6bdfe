import { createHmac, timingSafeEqual } from 'node:crypto';

/** What was done to the window that a caller asked for, to keep it within what he may see. */
export type Clamp =
  | 'none'
  /** It begins later than asked. */
  | 'from'
  /** It ended before what he may see begins, so there is nothing in it. */
  | 'all';

/** Which state of the history the pages of one list show. */
export interface Snapshot {
  readonly revision: number;
  /** Of the first page's window; the links repeat the clamped one. */
  readonly clamp: Clamp;
}

/** What a snapshot holds for: nobody can take it to another window, or get it from somebody else. */
export interface SnapshotGround {
  /** Secret of all control planes. */
  readonly key: string;
  readonly organisationId: number;
  readonly from: Date;
  readonly to: Date;
}

const MARKS: Readonly<Record<Clamp, string>> = { none: '', from: 'c', all: 'e' };
const CLAMPS: Readonly<Record<string, Clamp>> = { '': 'none', c: 'from', e: 'all' };
/** `1842.`, `1842c.` and 128 bits of signature. Callers take it from links and do not look into it. */
const SNAPSHOT = /^((0|[1-9][0-9]{0,14})([ce]?))\.([\w-]{22})$/;
const SIGNATURE_BYTES = 16;

export function formatSnapshot({ revision, clamp }: Snapshot, ground: SnapshotGround): string {
  const said = `${revision}${MARKS[clamp]}`;
  return `${said}.${signatureOf(said, ground).toString('base64url')}`;
}

/** Null: no link of ours has it. */
export function parseSnapshot(text: string, ground: SnapshotGround): Snapshot | null {
  const [, said = '', revision, mark = '', signature = ''] = SNAPSHOT.exec(text) ?? [];
  const clamp = CLAMPS[mark];
  if (revision === undefined || clamp === undefined) return null;
  const isOurs = timingSafeEqual(Buffer.from(signature, 'base64url'), signatureOf(said, ground));
  return isOurs ? { revision: Number(revision), clamp } : null;
}

function signatureOf(said: string, { key, organisationId, from, to }: SnapshotGround): Buffer {
  const signed = [said, organisationId, from.getTime(), to.getTime()].join(' ');
  return createHmac('sha256', key).update(signed).digest().subarray(0, SIGNATURE_BYTES);
}
