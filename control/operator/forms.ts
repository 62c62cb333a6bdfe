import type { Form } from '@portcullis/contract/schemas/declared/shapes.ts';
import { parseSafelistEntry } from '@portcullis/core/attacks/detector/safelist.ts';
import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { formatCidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import { momentText } from './moments.ts';

/** The forms of texts: each text in its one spelling, or a sentence that says why it is none. */
export const FORMS: Readonly<Record<Form, (text: string) => Parsed<string>>> = {
  cidr: parseNetwork,
  address: parseHost,
  target: (text) => (text === 'all' ? { ok: true, value: text } : parseNetwork(text)),
  ports: parsePorts,
  uuid: parseUuid,
  'named-ports': parseNamedPorts,
  safelist: parseExempt,
  moment(text) {
    const moment = parseMoment(text);
    return moment.ok ? { ok: true, value: momentText(moment.value) } : moment;
  },
};

/** Parses a network or an address to a CIDR. */
function parseNetwork(text: string): Parsed<string> {
  const parsed = parseCidr(text);
  if (parsed.ok) return { ok: true, value: formatCidr(parsed.value) };
  return { ok: false, reason: `"${text}" is no network: ${parsed.reason}.` };
}

function parseHost(text: string): Parsed<string> {
  const parsed = parseAddress(text);
  if (parsed.ok) return { ok: true, value: formatAddress(parsed.value) };
  return { ok: false, reason: `"${text}" is no address: ${parsed.reason}.` };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function parseUuid(text: string): Parsed<string> {
  if (UUID.test(text)) return { ok: true, value: text.toLowerCase() };
  return { ok: false, reason: 'This is no uuid.' };
}

/** Parses a port expression to its canonical form: `80,443-445`. */
function parsePorts(expression: string): Parsed<string> {
  const parsed = parsePortExpression(expression);
  if (!parsed.ok) return { ok: false, reason: `${parsed.reason}.` };
  const parts = parsed.value.map(({ low, high }) => (low === high ? `${low}` : `${low}-${high}`));
  return { ok: true, value: parts.join(',') };
}

/** Parses ports among which may be ports of game servers, by uuid and name: `80,UUID:query`. */
function parseNamedPorts(expression: string): Parsed<string> {
  const items = expression.split(',').map((item) => item.trim());
  const named = items.filter((item) => NAMED_PORT.test(item));
  const numbers = items.filter((item) => !NAMED_PORT.test(item));
  const ports = numbers.length === 0 ? null : parsePorts(numbers.join(','));
  if (ports?.ok === false) return ports;
  return { ok: true, value: [...(ports === null ? [] : [ports.value]), ...named].join(',') };
}

/** A port of a game server by name, as it is stored. */
export const NAMED_PORT = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):[a-z0-9][a-z0-9-]{0,62}$/;

function parseExempt(text: string): Parsed<string> {
  const entry = parseSafelistEntry(text);
  return entry.ok ? entry : { ok: false, reason: `${entry.reason}.` };
}

/** The network for people: a single address without its length. */
export function showCidr(cidr: string): string {
  const parsed = parseCidr(cidr);
  return parsed.ok ? formatNetwork(parsed.value) : cidr;
}

/** Makes a parser's reason a sentence. */
export function sentence(reason: string): string {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** The years that four digits have: JavaScript and PostgreSQL write others, each in its own way. */
const [FIRST, LAST] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map(Date.parse);

/** Parses an RFC 3339 time with an offset, and checks the calendar. */
export function parseMoment(text: string): Parsed<Date> {
  const form = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)$/.exec(text);
  const value = new Date(text);
  const [, year, month, day] = form ?? [];
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  const refuse = (why: string): Parsed<Date> => ({ ok: false, reason: `"${text}" is ${why}` });
  if (form === null || Number.isNaN(value.getTime()) || midnight.getUTCDate() !== Number(day)) {
    return refuse('no moment: write it with an offset, such as 2026-01-01T00:00:00+00:00.');
  }
  const isInRange = value.getTime() >= Number(FIRST) && value.getTime() <= Number(LAST);
  return isInRange ? { ok: true, value } : refuse('not in the years 1 to 9999 of UTC.');
}
