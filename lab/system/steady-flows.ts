import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { Sent } from '../wire/path.ts';
import { SERVER } from '../internet.ts';
import { type Ground, packet } from './ground.ts';

const FAMILIES = [4, 6] as const;
const OPEN_PORT = 27_016;
/** How long packets go their way before and after. */
const AROUND_MS = 100;
/** Fewer say nothing about what happened meanwhile. */
const ENOUGH = 30;

export interface SteadyFlow {
  readonly family: 4 | 6;
  readonly allowed: boolean;
  readonly sent: readonly Sent[];
}

/** The server accepts UDP to one port, and nothing else. */
export async function protectServer({ stack }: Ground): Promise<void> {
  for (const family of FAMILIES) {
    await stack.api.createRule(SERVER[family], { action: 'deny', protocol: 'any' });
    const open = { protocol: 'udp', destination_port: String(OPEN_PORT) };
    await stack.api.createRule(SERVER[family], { action: 'allow', ...open });
  }
}

/** Sends a denied and an allowed packet of each family every millisecond, before, while and after something is done. */
export async function duringSteadyFlows(
  { through }: Ground,
  disturb: () => Promise<void>,
): Promise<SteadyFlow[]> {
  const flows = FAMILIES.flatMap((family) => [
    { family, allowed: false, packet: packet(family, 'udp') },
    { family, allowed: true, packet: packet(family, 'udp', { destinationPort: OPEN_PORT }) },
  ]);
  const stream = await through.steadily(flows.map((flow) => flow.packet));
  await setTimeout(AROUND_MS);
  await disturb();
  for (const flow of flows) await through.restored(flow.packet);
  await setTimeout(AROUND_MS);
  const sent = await stream.stop();
  return flows.map(({ family, allowed }, index) => ({ family, allowed, sent: sent[index] ?? [] }));
}

/** Not one denied packet passed, and not one allowed packet was dropped. */
export function assertUndisturbed(flows: readonly SteadyFlow[]): void {
  for (const flow of flows) assertNoneAstray(flow);
}

/** Not one denied packet passed; what is allowed had no way for a while. */
export function assertNothingDeniedPassed(flows: readonly SteadyFlow[]): void {
  for (const flow of flows) if (!flow.allowed) assertNoneAstray(flow);
}

function assertNoneAstray({ family, allowed, sent }: SteadyFlow): void {
  assert.ok(sent.length > ENOUGH, `${sent.length} packets`);
  const astray = sent.filter(({ passed }) => passed !== allowed).map(({ atMs }) => atMs);
  const what = `IPv${family} packets that should ${allowed ? '' : 'not '}pass, of ${sent.length}`;
  const when = astray.map((atMs) => atMs - (sent[0]?.atMs ?? 0)).slice(0, 20);
  assert.equal(astray.length, 0, `${astray.length} ${what}, first ms: ${when.join(' ')}`);
}
