import type { PowerSignal, PowerState } from './power.ts';

export type PowerAction = 'nothing' | 'launch' | 'stop' | 'restart' | 'kill' | 'refuse';

/**
 * The effect that a signal does in each state; the node decides by it, and the portal enables its buttons by it.
 * `nothing` is accepted. A restart while stopping starts it once it has stopped.
 */
export const POWER_TABLE = {
  offline: { start: 'launch', stop: 'nothing', restart: 'launch', kill: 'nothing' },
  starting: { start: 'nothing', stop: 'stop', restart: 'restart', kill: 'kill' },
  running: { start: 'nothing', stop: 'stop', restart: 'restart', kill: 'kill' },
  stopping: { start: 'refuse', stop: 'nothing', restart: 'restart', kill: 'kill' },
} as const satisfies Readonly<Record<PowerState, Readonly<Record<PowerSignal, PowerAction>>>>;
