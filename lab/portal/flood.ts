import { linkOf } from '../bench/generator/traffic.ts';
import { sendFloods } from '../floods/flood.ts';
import type { FloodKind } from '../floods/frames.ts';
import { EDGE_DEVICE, type Internet } from '../stack/internet.ts';
import { ATTACKED } from './fleet.ts';

/** Times the threshold: detected soon on any machine. */
const FACTOR = 5;
/** Longer than a test: the test ends the flood, and a flood whose test has died ends itself. */
const LONGEST_SECONDS = 1_800;

/** Floods an address with the low threshold until the returned function is called. */
export function startFlood(
  { client, edge }: Internet,
  kind: FloodKind,
  target: string = ATTACKED.ip,
): () => Promise<void> {
  const ending = new AbortController();
  const plan = {
    name: 'flood',
    kind,
    target,
    pps: ATTACKED.thresholdPps * FACTOR,
    seconds: LONGEST_SECONDS,
    device: 'eth0',
    ifindex: linkOf(client, 'eth0').ifindex,
    to: linkOf(edge, EDGE_DEVICE).address,
  };
  const flood = sendFloods(client, [plan], ending.signal).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return async () => {
    ending.abort();
    await flood;
  };
}
