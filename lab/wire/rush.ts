import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { within } from '../bench/within.ts';
import type { Namespace } from '../stack/netns.ts';

/** Players that join a game server at the same time, as after its restart, each from its own address. */
export interface RushPlan {
  readonly server: string;
  readonly port: number;
  readonly sources: readonly string[];
  /** All players send their join request within this time. */
  readonly joinWithinMs: number;
  /** Packets of a join, sent directly after the first answer. */
  readonly joinPackets: number;
  readonly turnsPerSecond: number;
  readonly seconds: number;
}

export interface RushReport {
  readonly players: readonly {
    /** From the player's first request to the first answer. */
    readonly joinedMs: number;
    readonly turns: number;
    /** Packets without an answer after the player had joined. */
    readonly lost: number;
  }[];
  readonly sent: number;
  /** The most of any quarter second, of any second and a half, and when all are in. */
  readonly peakPps: number;
  readonly windowPps: number;
  readonly steadyPps: number;
}

const GRACE_MS = 30_000;

/** Plays from a namespace to the end of the plan. The server must answer every packet. */
export async function rush(from: Namespace, plan: RushPlan): Promise<RushReport> {
  const script = join(import.meta.dirname, 'rush-process.ts');
  const child = from.spawn([process.execPath, script, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const said = text(child.stdout as Readable);
    await within(plan.seconds * 1000 + GRACE_MS, 'a rush does not end', once(child, 'close'));
    return JSON.parse(await said) as RushReport;
  } finally {
    child.kill('SIGKILL');
  }
}
