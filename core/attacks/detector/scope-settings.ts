import { DEFAULT_THRESHOLDS, type Thresholds } from '../attack.ts';

/** How an edge mitigates attacks. `observe` counts what would have been dropped. */
export const MITIGATION_MODES = ['off', 'observe', 'on'] as const;
export type MitigationMode = (typeof MITIGATION_MODES)[number];

/** The settings of one scope (organisation, prefix, service, address). Null inherits from the containing scope. */
export interface ScopeSettings {
  /** Packets per second. */
  readonly pps: number | null;
  /** Megabits (10^6) per second. */
  readonly mbps: number | null;
  readonly holdSeconds: number | null;
  readonly mitigation: MitigationMode | null;
  /** Canonical networks whose packets are never dropped by mitigations. */
  readonly safelist: readonly string[];
}

export const NOTHING_SET: ScopeSettings = {
  pps: null,
  mbps: null,
  holdSeconds: null,
  mitigation: null,
  safelist: [],
};

/** The resolved settings of a scope. */
export interface ResolvedScope extends Thresholds {
  readonly mitigation: MitigationMode;
  /** Sorted, each once. */
  readonly safelist: readonly string[];
}

/** The default: attacks on protected addresses are mitigated. */
export const DEFAULT_MITIGATION: MitigationMode = 'on';

/**
 * Takes each value from the nearest scope that sets it, so that a prefix may set its packet threshold and inherit the
 * rest. Safelists are united: a nearer safelist does not remove entries of another.
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

/** The resolved settings of a scope, as agents use them: the longest scope that contains an address applies. */
export interface WatchScope {
  /** An address without length, or a network with its length. */
  readonly scope: string;
  /** Thresholds in packets and bits per second, and the quiet time after which an attack has ended. */
  readonly pps: number;
  readonly bps: number;
  readonly holdMs: number;
  readonly mitigation: MitigationMode;
  /** Sources that mitigations never drop. */
  readonly safelist: readonly string[];
  /** Whether it is a subject of the detector itself: it is held, and every address in it is protected. */
  readonly subject: boolean;
}
