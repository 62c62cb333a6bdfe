import { createHmac, timingSafeEqual } from 'node:crypto';

/** How the requested window was clamped to the caller's entitlement. */
export type Clamp =
  | 'none'
  /** It starts later than requested. */
  | 'from'
  /** It ends before the entitlement starts, so it is empty. */
  | 'all';

/** The state of the history that all pages of one list show. */
export interface Snapshot {
  readonly revision: number;
  /** The clamping of the first page's window; links repeat the clamped window. */
  readonly clamp: Clamp;
}

/** A snapshot is signed for its caller and window. */
export interface SnapshotScope {
  /** The secret shared by all replicas. */
  readonly key: string;
  readonly organisationId: number;
  readonly from: Date;
  readonly to: Date;
}

const MARKS: Readonly<Record<Clamp, string>> = { none: '', from: 'c', all: 'e' };
const CLAMPS: Readonly<Record<string, Clamp>> = { '': 'none', c: 'from', e: 'all' };
/** `1842.` or `1842c.` and 128 bits of signature. Opaque to callers. */
const SNAPSHOT = /^((0|[1-9][0-9]{0,14})([ce]?))\.([\w-]{22})$/;
const SIGNATURE_BYTES = 16;

export function formatSnapshot({ revision, clamp }: Snapshot, scope: SnapshotScope): string {
  const content = `${revision}${MARKS[clamp]}`;
  return `${content}.${signatureOf(content, scope).toString('base64url')}`;
}

/** Null if the signature is invalid. */
export function parseSnapshot(text: string, scope: SnapshotScope): Snapshot | null {
  const [, content = '', revision, mark = '', signature = ''] = SNAPSHOT.exec(text) ?? [];
  const clamp = CLAMPS[mark];
  if (revision === undefined || clamp === undefined) return null;
  const isOurs = timingSafeEqual(Buffer.from(signature, 'base64url'), signatureOf(content, scope));
  return isOurs ? { revision: Number(revision), clamp } : null;
}

function signatureOf(content: string, { key, organisationId, from, to }: SnapshotScope): Buffer {
  const signed = [content, organisationId, from.getTime(), to.getTime()].join(' ');
  return createHmac('sha256', key).update(signed).digest().subarray(0, SIGNATURE_BYTES);
}
