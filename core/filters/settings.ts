import { failed, type Parsed, parsed } from '../net/parsed.ts';
import { parsePortExpression } from '../net/ports.ts';
import { type Filter, MAX_PAYLOAD } from './filter.ts';

/** Settings that a holder sets on one filter of a port. What is absent stays as the filter has it. */
export interface FilterSettings {
  /** Packets per second of one source that is validated or has a connection. */
  readonly sourcePps?: number;
  /**
   * The new players that the port takes per second, from all sources together: greetings on UDP, connections on TCP.
   * Packets above it are dropped, and their clients try again, so that a launch queues at the edge.
   */
  readonly newPerSecond?: number;
  /** The shortest and the longest payload of a UDP packet, in bytes. */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** The source ports that packets may come from, as a canonical port expression. */
  readonly sourcePorts?: string;
}

/** The least and the most that each number can be, as the interface says. */
export const SETTING_RANGES = {
  sourcePps: [1, 1_000_000],
  newPerSecond: [1, 100_000],
  minLength: [0, MAX_PAYLOAD],
  maxLength: [0, MAX_PAYLOAD],
} as const satisfies Partial<Record<keyof FilterSettings, readonly [number, number]>>;

/** Settings as they are sent: null and undefined stand for absent. */
export type SentSettings = {
  readonly [field in keyof FilterSettings]?: FilterSettings[field] | null | undefined;
};

export type ParsedSettings =
  | { readonly ok: true; readonly value: FilterSettings }
  | { readonly ok: false; readonly field: keyof FilterSettings; readonly reason: string };

/** Equal settings are equal JSON. Numbers are within `SETTING_RANGES` already. */
export function parseSettings({ name, udp }: Filter, sent: SentSettings): ParsedSettings {
  const { sourcePps, newPerSecond, minLength, maxLength } = sent;
  for (const field of ['minLength', 'maxLength'] as const) {
    if (udp !== null || typeof sent[field] !== 'number') continue;
    const reason = `${name} filters TCP, whose segments have no length of their own; leave it out`;
    return { ok: false, field, reason };
  }
  if ((minLength ?? 0) > (maxLength ?? MAX_PAYLOAD)) {
    const reason = 'the shortest packet is longer than the longest';
    return { ok: false, field: 'minLength', reason };
  }
  const ports = parseSourcePorts(sent.sourcePorts ?? null);
  if (!ports.ok) return { ok: false, field: 'sourcePorts', reason: ports.reason };
  const value = { sourcePps, newPerSecond, minLength, maxLength, sourcePorts: ports.value };
  return { ok: true, value: withoutAbsent(value) };
}

/** In the order of the fields given. */
function withoutAbsent(all: SentSettings): FilterSettings {
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== null && value !== undefined),
  );
}

function parseSourcePorts(text: string | null): Parsed<string | null> {
  if (text === null) return parsed(null);
  const ranges = parsePortExpression(text);
  if (!ranges.ok) return ranges;
  if (ranges.value.length > MAX_SOURCE_PORTS) {
    return failed(`at most ${MAX_SOURCE_PORTS} ranges of source ports`);
  }
  const texts = ranges.value.map(({ low, high }) => (low === high ? `${low}` : `${low}-${high}`));
  return parsed(texts.join(','));
}

/** The kernel compares a packet with each of them. */
const MAX_SOURCE_PORTS = 16;
/** The characters of the longest canonical source ports. */
export const MAX_SOURCE_PORTS_TEXT = MAX_SOURCE_PORTS * '65535-65535,'.length;

/** The filter with its settings. */
export function withSettings<F extends Filter>(filter: F, settings: FilterSettings = {}): F {
  const { sourcePps, newPerSecond, minLength, maxLength, sourcePorts } = settings;
  const { udp, tcp } = filter;
  const ports = sourcePorts === undefined ? null : parsePortExpression(sourcePorts);
  return {
    ...filter,
    udp: udp && {
      ...udp,
      rates: { ...udp.rates, validatedPps: sourcePps ?? udp.rates.validatedPps },
      budgetPps: newPerSecond ?? udp.budgetPps,
    },
    tcp: tcp && {
      ...tcp,
      validatedPps: sourcePps ?? tcp.validatedPps,
      newPerSecond: newPerSecond ?? null,
    },
    packets: {
      lengths:
        minLength === undefined && maxLength === undefined
          ? null
          : { min: minLength ?? 0, max: maxLength ?? MAX_PAYLOAD },
      // Text that is no port expression, which neither the interface nor the link accepts, allows no port.
      sourcePorts: ports === null ? null : ports.ok ? ports.value : [],
    },
  };
}

/** For people: `200 packets/s a source, 50 new a second`; empty without settings. */
export function describeSettings(settings: SentSettings): string {
  const part = (field: keyof FilterSettings, before: string, after: string): string[] =>
    (settings[field] ?? null) === null ? [] : [`${before}${settings[field]}${after}`];
  return [
    ...part('sourcePps', '', ' packets/s a source'),
    ...part('newPerSecond', '', ' new a second'),
    ...part('minLength', 'from ', ' bytes'),
    ...part('maxLength', 'up to ', ' bytes'),
    ...part('sourcePorts', 'from ports ', ''),
  ].join(', ');
}
