import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { ruleIdentity, type WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import { expandEntry, parsePortName, readEntry } from '@portcullis/core/firewall/rules/entry.ts';
import { RULE_ACTIONS, RULE_PROTOCOLS } from '@portcullis/core/firewall/rules/parse.ts';
import { type Family, parseAddress, formatAddress } from '@portcullis/core/net/address.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { expandPorts, parsePortExpression } from '@portcullis/core/net/ports.ts';
import { Mistakes, nearest, type Place } from './places.ts';

export interface WantedFilter {
  readonly type: string;
  readonly port: number;
  /** Absent: as the filter has them. */
  readonly settings?: Readonly<Record<string, number | string | null>>;
}

/** A packet that a file expects to pass or to be dropped. */
export interface Expectation {
  readonly text: string;
  readonly verdict: 'pass' | 'drop';
  readonly protocol: string;
  readonly port: number | null;
  /** Null: from anywhere. */
  readonly source: string | null;
}

/** The content of a file for one address. Absent parts stay as they are. */
export interface WantedAddress {
  readonly ip: string;
  readonly default?: 'accept' | 'deny';
  readonly rules?: readonly WantedRule[];
  readonly filters?: readonly WantedFilter[];
  /** Networks whose packets are dropped whatever rules say. */
  readonly blocked?: readonly string[];
  readonly expectations: readonly Expectation[];
}

const SETTINGS = [
  'source_pps',
  'new_per_second',
  'min_length',
  'max_length',
  'source_ports',
] as const;
/** More make a file that is a mistake. */
const MAX_RULES = 4_096;

/** Reads a file of callers. Throws an error with every mistake: file, line and column. */
export function parseRulesFile(text: string, file: string): readonly WantedAddress[] {
  const mistakes = new Mistakes();
  const found = readAddresses(mistakes.read(text));
  mistakes.throwIfAny(file);
  return found;
}

function readAddresses(root: Place | null): WantedAddress[] {
  const addresses = root?.fields('The file', ['addresses'])?.addresses;
  if (root !== null && addresses === undefined) root.refuse('The file needs "addresses".');
  const found = new Map<string, WantedAddress>();
  for (const [name, place] of addresses?.entries('"addresses"') ?? []) {
    const ip = parseAddress(name);
    if (!ip.ok) {
      place.refuse(`"${name}" is not an address: ${ip.reason}.`);
      continue;
    }
    const canonical = formatAddress(ip.value);
    if (found.has(canonical)) place.refuse(`The address ${canonical} is here twice.`);
    else found.set(canonical, readAddress(canonical, ip.value.family, place));
  }
  return [...found.values()];
}

const FIELDS = ['default', 'rules', 'filters', 'blocked', 'expect'] as const;

function readAddress(ip: string, family: Family, place: Place): WantedAddress {
  const fields = place.isNull ? {} : (place.fields('An address', FIELDS) ?? {});
  const fallback = fields.default && choice(fields.default, 'A default', ['accept', 'deny']);
  const rules = fields.rules?.items('"rules"')?.flatMap((one) => readRule(one, family));
  const filters = fields.filters?.items('"filters"')?.flatMap(readFilter);
  const blocked = fields.blocked?.items('"blocked"')?.flatMap((one) => readSource(one, family));
  refuseTwice(rules ?? [], fields.rules);
  return {
    ip,
    ...(fallback && { default: fallback }),
    ...(rules && { rules }),
    ...(filters && { filters }),
    ...(blocked && { blocked: [...new Set(blocked)] }),
    expectations: fields.expect === undefined ? [] : readExpectations(fields.expect, family),
  };
}

function refuseTwice(rules: readonly WantedRule[], place: Place | undefined): void {
  const seen = new Set<string>();
  for (const rule of rules) {
    for (const name of [ruleIdentity(rule), ...(rule.ref ? [`the ref "${rule.ref}"`] : [])]) {
      if (seen.has(name)) place?.refuse(`A rule is here twice: ${name}.`);
      seen.add(name);
    }
  }
  if (rules.length > MAX_RULES) place?.refuse(`An address has at most ${MAX_RULES} rules.`);
}

const RULE_FIELDS = [
  'action',
  'protocol',
  'destination_port',
  'source_ip',
  'ref',
  'expires_at',
] as const;

export function readRule(place: Place, family: Family): WantedRule[] {
  const fields = place.fields('A rule', RULE_FIELDS);
  if (fields === null) return [];
  const action = required(place, fields.action, 'action', RULE_ACTIONS);
  const protocol = required(place, fields.protocol, 'protocol', RULE_PROTOCOLS);
  const port = optional(fields.destination_port, 'A port');
  const source = optional(fields.source_ip, 'A source');
  if (action === null || protocol === null) return [];
  const namedPort = port === null ? null : parsePortName(port);
  const read = readEntry(
    {
      action,
      protocol,
      source_ip: source,
      destination_port: namedPort === null ? port : null,
      namedPort,
      ref: fields.ref && optional(fields.ref, 'A ref'),
      expires_at: fields.expires_at && optional(fields.expires_at, 'expires_at'),
    },
    { family, now: new Date() },
  );
  if (read.ok) return read.value.hasExpired ? [] : expandEntry(read.value);
  const noun = read.field === 'ref' || read.field === 'expires_at' ? read.field : 'The rule';
  (fields[read.field as (typeof RULE_FIELDS)[number]] ?? place).refuse(
    noun === 'The rule' ? `The rule is not valid: ${read.reason}.` : `"${noun}": ${read.reason}.`,
  );
  return [];
}

export function readFilter(place: Place): WantedFilter[] {
  const fields = place.fields('A filter', ['type', 'port', 'settings']);
  if (fields === null) return [];
  const names = FILTERS.map(({ type }) => type as string);
  const type = required(place, fields.type, 'type', names);
  const text = fields.port === undefined ? null : fields.port.text('A port');
  if (fields.port === undefined) place.refuse('A filter needs "port".');
  const ports = text === null ? null : parsePortExpression(text);
  if (ports?.ok === false) fields.port?.refuse(`The port is not valid: ${ports.reason}.`);
  if (type === null || !ports?.ok) return [];
  const settings = fields.settings && readSettings(fields.settings);
  return expandPorts(ports.value).map((port) => ({ type, port, ...(settings && { settings }) }));
}

function readSettings(place: Place): Record<string, number | string | null> {
  const found: Record<string, number | string | null> = {};
  for (const [name, one] of Object.entries(place.fields('"settings"', SETTINGS) ?? {})) {
    const text = optional(one, `"${name}"`);
    if (text === null || name === 'source_ports') found[name] = text;
    else if (/^\d{1,9}$/.test(text)) found[name] = Number(text);
    else one.refuse(`"${name}" is a number.`);
  }
  return found;
}

function readSource(place: Place, family: Family): string[] {
  const text = place.text('A blocked source');
  const cidr = text === null ? null : parseCidr(text);
  if (cidr === null) return [];
  if (cidr.ok && cidr.value.family === family) return [formatNetwork(cidr.value)];
  place.refuse(
    cidr.ok ? `"${text}" is of the other family.` : `"${text}" is not a network: ${cidr.reason}.`,
  );
  return [];
}

function readExpectations(place: Place, family: Family): Expectation[] {
  const fields = place.fields('"expect"', ['pass', 'drop']) ?? {};
  return (['pass', 'drop'] as const).flatMap((verdict) =>
    (fields[verdict]?.items(`"${verdict}"`) ?? []).flatMap((one) => {
      const text = one.text('A packet');
      const [, protocol = '', port = null, from = null] =
        /^(\w+)(?: (\d{1,5}))?(?: from (\S+))?$/.exec(text ?? '') ?? [];
      const source = from === null || from === 'anywhere' ? null : parseAddress(from);
      const isKnown = ['tcp', 'udp', 'icmp', 'gre', 'esp'].includes(protocol);
      const hasPort = protocol === 'tcp' || protocol === 'udp';
      const isSource = source === null || (source.ok && source.value.family === family);
      if (text === null || !isKnown || hasPort !== (port !== null) || !isSource) {
        one.refuse('A packet is such as "tcp 443", "udp 27015 from 198.51.100.7" or "icmp".');
        return [];
      }
      const address = source === null ? null : source.ok ? formatAddress(source.value) : null;
      const number = port === null ? null : Number(port);
      return [{ text, verdict, protocol, port: number, source: address }];
    }),
  );
}

function optional(place: Place | undefined, what: string): string | null {
  return place === undefined || place.isNull ? null : place.text(what);
}

function choice<T extends string>(place: Place, what: string, values: readonly T[]): T | null {
  const text = place.text(what);
  const found = values.find((one) => one === text);
  if (found !== undefined || text === null) return found ?? null;
  const near = nearest(text, values);
  place.refuse(
    near === null
      ? `${what} is one of ${values.join(', ')}.`
      : `"${text}" is not known; did you mean "${near}"?`,
  );
  return null;
}

function required<T extends string>(
  rule: Place,
  place: Place | undefined,
  name: string,
  values: readonly T[],
): T | null {
  if (place !== undefined) return choice(place, `"${name}"`, values);
  rule.refuse(`"${name}" is missing.`);
  return null;
}
