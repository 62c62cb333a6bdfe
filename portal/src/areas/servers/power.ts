import type { PowerSignal, PowerState } from '@portcullis/core/game-servers/power.ts';
import { POWER_TABLE } from '@portcullis/core/game-servers/power-table.ts';
import { messages } from '../../messages/index.ts';

const text = messages.server.power;

export const SIGNALS = ['start', 'stop', 'restart', 'kill'] as const satisfies PowerSignal[];

export interface Powered {
  /** Null: unknown. */
  readonly state: string | null;
  readonly isBuilt: boolean;
  readonly isSuspended: boolean;
  readonly isNodeConnected: boolean;
}

/** Why a signal is of no use now, by the table that the node decides by; null where it would do something. */
export function powerRefusal(signal: PowerSignal, server: Powered): string | null {
  if (!server.isBuilt) return text.notBuilt;
  if (!server.isNodeConnected) return text.nodeAway;
  const begins = signal === 'start' || signal === 'restart';
  if (begins && server.isSuspended) return text.suspended;
  const state = powerStateOf(server.state);
  if (state === null) return signal === 'kill' ? null : text.unknown;
  const action = POWER_TABLE[state][signal];
  if (action === 'refuse') return text.stopping;
  if (action !== 'nothing') return null;
  const why: Partial<Record<PowerSignal, Partial<Record<PowerState, string>>>> = text.nothing;
  return why[signal]?.[state] ?? text.noEffect;
}

/** A paused server is one that runs: another program holds it. */
function powerStateOf(state: string | null): PowerState | null {
  if (state === 'paused') return 'running';
  return state !== null && state in POWER_TABLE ? (state as PowerState) : null;
}
