import { DEFAULT_THRESHOLDS, type Thresholds } from './attack.ts';

/** What an edge does against an attack. `observe` only marks what would have been dropped. */
export const MITIGATION_MODES = ['off', 'observe', 'on'] as const;
export type MitigationMode = (typeof MITIGATION_MODES)[number];

/** What one scope (organisation, prefix, service, address) says itself; null: the scope around it decides. */
export interface ScopeSettings {
  /** Packets a second. */
  readonly pps: number | null;
  /** Megabits (10^6) a second. */
  readonly mbps: number | null;
  readonly holdSeconds: number | null;
  readonly mitigation: MitigationMode | null;
  /** Canonical networks whose packets no mitigation touches. */
  readonly safelist: readonly string[];
}

export const NOTHING_SET: ScopeSettings = {
  pps: null,
  mbps: null,
  holdSeconds: null,
  mitigation: null,
  safelist: [],
};

/** What holds at a place, with nothing left open. */
export interface ResolvedScope extends Thresholds {
  readonly mitigation: MitigationMode;
  /** Sorted, each once. */
  readonly safelist: readonly string[];
}

/** Where nobody says otherwise: an attack on what is protected is mitigated. */
export const DEFAULT_MITIGATION: MitigationMode = 'on';

/**
 * Each value from the nearest scope that says it, so that a prefix may set its packets and leave the rest to its
 * organisation. Safelists add up: an exception that somebody made is lost by none that is made nearer.
 */
export function resolveScopes(nearestFirst: readonly ScopeSettings[]): ResolvedScope {
  const nearest = <K extends 'pps' | 'mbps' | 'holdSeconds' | 'mitigation'>(key: K) =>
    nearestFirst.find((scope) => scope[key] !== null)?.[key] ?? null;
  const mbps = nearest('mbps');
  const holdSeconds = nearest('holdSeconds');
  return {
    pps: nearest('pps') ?? DEFAULT_THRESHOLDS.pps,
    bps: mbps === null ? DEFAULT_THRESHOLDS.bps : mbps * 1_000_000,
    holdMs: holdSeconds === null ? DEFAULT_THRESHOLDS.holdMs : holdSeconds * 1000,
    mitigation: nearest('mitigation') ?? DEFAULT_MITIGATION,
    safelist: [...new Set(nearestFirst.flatMap(({ safelist }) => safelist))].toSorted(),
  };
}

/** What holds for an address or prefix, by the longest scope around it. */
export interface WatchScope {
  /** An address without length, or a network with it. */
  readonly scope: string;
  /** Thresholds: packets and bits a second, and how long it is quiet at the end of an attack. */
  readonly pps: number;
  readonly bps: number;
  readonly holdMs: number;
  readonly mitigation: MitigationMode;
  /** Sources that no mitigation touches. */
  readonly safelist: readonly string[];
  /** Held: a subject of the detector itself, and every address in it is protected. */
  readonly subject: boolean;
}
