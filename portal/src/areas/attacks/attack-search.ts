import { parseAddress } from '@portcullis/core/net/address.ts';
import { formatCidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { messages } from '../../messages/index.ts';

const text = messages.attacks;

export const WINDOWS = ['hour', 'day', 'week', 'month', 'custom'] as const;
export type WindowName = (typeof WINDOWS)[number];

/** The search that the address of the page holds, so that a view can be sent to somebody. */
export interface AttackSearch {
  readonly q?: string;
  readonly window?: WindowName;
  /** With a custom window: moments with an offset. */
  readonly from?: string;
  readonly to?: string;
  readonly ongoing?: true;
}

export interface Where {
  readonly ip?: string;
  readonly prefix?: string;
  readonly asn?: number;
}

export type ParsedTerms =
  | { readonly ok: true; readonly where: Where }
  | { readonly ok: false; readonly reason: string };

const MAX_ASN = 4_294_967_295;

/** terms = term *(1*(SP / ",") term); term = address / CIDR / ["AS"] number. Each kind once. */
export function parseTerms(typed: string): ParsedTerms {
  const where: { ip?: string; prefix?: string; asn?: number } = {};
  for (const term of typed.split(/[\s,]+/).filter((one) => one !== '')) {
    const found = parseTerm(term);
    if (found === null) return { ok: false, reason: text.notUnderstood(term) };
    for (const kind of ['ip', 'prefix', 'asn'] as const) {
      if (found[kind] !== undefined && where[kind] !== undefined) {
        return { ok: false, reason: text.twice(text.kinds[kind]) };
      }
    }
    Object.assign(where, found);
  }
  return { ok: true, where };
}

function parseTerm(term: string): Where | null {
  if (term.includes('/')) {
    const prefix = parseCidr(term);
    return prefix.ok ? { prefix: formatCidr(prefix.value) } : null;
  }
  const number = /^(?:as)?(\d{1,10})$/i.exec(term)?.[1];
  if (number !== undefined) {
    const asn = Number(number);
    return asn >= 1 && asn <= MAX_ASN ? { asn } : null;
  }
  return parseAddress(term).ok ? { ip: term } : null;
}

const HOUR_MS = 3_600_000;
const LENGTHS = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
} as const;

/** The window to ask for; undefined: now, or what the service takes by itself. */
export function windowOf(
  { window = 'day', from, to }: AttackSearch,
  nowMs: number,
): { readonly from?: string; readonly to?: string } {
  if (window === 'custom') {
    return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  }
  return { from: new Date(nowMs - LENGTHS[window]).toISOString() };
}

export function isBackwards({ from, to }: AttackSearch): boolean {
  return from !== undefined && to !== undefined && Date.parse(to) < Date.parse(from);
}

/**
 * Reads the search part of the address of the page, which anybody may have written: what is not understood is left
 * out.
 */
export function readSearch(search: Readonly<Record<string, unknown>>): AttackSearch {
  const { q, window, from, to, ongoing } = search;
  const known = WINDOWS.find((each) => each === window);
  return {
    ...(typeof q === 'string' && q !== '' && { q }),
    // A term such as 64500 is read as a number.
    ...(typeof q === 'number' && { q: String(q) }),
    ...(known !== undefined && known !== 'day' && { window: known }),
    ...(isMoment(from) && { from }),
    ...(isMoment(to) && { to }),
    ...((ongoing === true || ongoing === 'true') && { ongoing: true }),
  };
}

function isMoment(value: unknown): value is string {
  return (
    typeof value === 'string' && /(?:Z|[+-]\d\d:\d\d)$/.test(value) && !isNaN(Date.parse(value))
  );
}
