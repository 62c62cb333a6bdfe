import type { Db } from '../../db/database.ts';
import { currentGeneration } from '../generations.ts';
import { type EdgeStatus, loadEdgeStatuses } from './status.ts';

/** `partial`: an edge is out of service or lacks a device, or a target is refused. `none`: no edge enforces. */
export type EnforcementState = 'full' | 'partial' | 'none';

export interface Enforcement {
  readonly state: EnforcementState;
  /** Sentences for the operator: what is enforced, and by which edges. */
  readonly detail: string;
  readonly generation: number;
  readonly edges: readonly EdgeStatus[];
}
export interface EnforcementReader {
  /** Returns a state that is at most `maxAgeMs` old. */
  read(): Promise<Enforcement>;
}

/** Lets a busy API query the database once for many requests. */
const MAX_AGE_MS = 500;

export function createEnforcement(options: {
  readonly db: Db;
  readonly maxAgeMs?: number;
}): EnforcementReader {
  const maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS;
  let cached: { readonly value: Promise<Enforcement>; readonly atMs: number } | null = null;
  return {
    read() {
      const now = performance.now();
      if (cached !== null && now - cached.atMs < maxAgeMs) return cached.value;
      const value = loadEnforcement(options.db);
      const entry = { value, atMs: now };
      cached = entry;
      value.catch(() => {
        if (cached === entry) cached = null;
      });
      return value;
    },
  };
}

async function loadEnforcement(db: Db): Promise<Enforcement> {
  const edges = await loadEdgeStatuses(db);
  const generation = await currentGeneration(db);
  return { ...describeEnforcement(edges), generation, edges };
}

/** Pure: summarises the enforcement of a fleet. */
export function describeEnforcement(
  edges: readonly EdgeStatus[],
): Pick<Enforcement, 'state' | 'detail'> {
  const enforcing = edges.filter((edge) => edge.enforcing);
  if (enforcing.length === 0) return { state: 'none', detail: nothingEnforces(edges) };
  const away = enforcing.filter((edge) => !edge.inService);
  const refusing = enforcing.filter((edge) => edge.inService && edge.refused.length > 0);
  const lacking = edges.filter((edge) => edge.mode === 'no_device');
  const partial = enforcing.filter((edge) => edge.inService && edge.lacksDevice);
  if ([away, refusing, lacking, partial].every(({ length }) => length === 0)) {
    return {
      state: 'full',
      detail: `${count(enforcing.length, 'edge')} in service, none refuses anything.`,
    };
  }
  const sentences = [
    `${enforcing.length - away.length} of ${count(enforcing.length, 'enforcing edge')} in service.`,
  ];
  if (away.length > 0) {
    sentences.push(
      `Out of service, enforcing what they have: ${away.map(withSilence).join(', ')}.`,
    );
  }
  if (lacking.length > 0) sentences.push(withoutDevice(lacking));
  if (partial.length > 0) {
    const names = partial.map(({ name }) => name).join(', ');
    sentences.push(`Enforced on some of the devices only: ${names}.`);
  }
  if (refusing.length > 0) {
    const list = refusing.map((edge) => `${edge.name} (${count(edge.refused.length, 'target')})`);
    sentences.push(`Some addresses stay at an older state on ${list.join(', ')}.`);
  }
  return { state: 'partial', detail: sentences.join(' ') };
}

function nothingEnforces(edges: readonly EdgeStatus[]): string {
  const observing = edges.filter((edge) => edge.mode === 'observe');
  const lacking = edges.filter((edge) => edge.mode === 'no_device');
  if (observing.length === 0 && lacking.length === 0) {
    return 'Nothing is enforced: no edge enforces. Rules are accepted and stored; packets are not filtered by them.';
  }
  const sentences = observing.length === 0 ? [] : [`Edges only observe: ${listOf(observing)}.`];
  if (lacking.length > 0) sentences.push(withoutDevice(lacking));
  return `Nothing is enforced. ${sentences.join(' ')}`;
}

function withoutDevice(edges: readonly EdgeStatus[]): string {
  return `Edges without a device enforce nothing: ${listOf(edges)}.`;
}

function listOf(edges: readonly EdgeStatus[]): string {
  return edges
    .map(({ name, modeReason }) => (modeReason === null ? name : `${name} (${modeReason})`))
    .join(', ');
}

function withSilence(edge: EdgeStatus): string {
  if (edge.lastSeenAt === null) return edge.name;
  const silentMs = Math.max(0, Date.now() - edge.lastSeenAt.getTime());
  return `${edge.name} (last seen ${Math.round(silentMs / 1000)} s ago)`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
