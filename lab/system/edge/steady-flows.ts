import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { Passed } from '../../wire/path.ts';
import type { ProbePacket } from '../../wire/probe.ts';
import { SERVER } from '../../stack/internet.ts';
import { type StackFixture, packet } from '../stack-fixture.ts';

const FAMILIES = [4, 6] as const;
const OPEN_PORT = 27_016;
/** How long packets are sent before and after. */
const AROUND_MS = 100;
/** Fewer packets would not cover the time of the change. */
const ENOUGH = 30;
/**
 * The kernel chooses the ruleset for each lookup, so a packet that is between two lookups at a commit may find neither
 * all of the old ruleset nor all of the new one.
 */
const AT_COMMIT = 1;

export interface SteadyFlow {
  readonly to: string;
  readonly allowed: boolean;
  readonly sent: readonly Passed[];
}

/** The server accepts UDP to one port only. */
export async function protectServer(fixture: StackFixture): Promise<void> {
  for (const family of FAMILIES) await protect(fixture, SERVER[family]);
}

/** The same for any address; returns the ids of the deny and the allow rules. */
export async function protect(
  { stack }: StackFixture,
  address: string,
): Promise<readonly number[]> {
  const denying = await stack.api.createRule(address, { action: 'deny', protocol: 'any' });
  const open = { protocol: 'udp', destination_port: String(OPEN_PORT) };
  return [...denying, ...(await stack.api.createRule(address, { action: 'allow', ...open }))];
}

/** Sends each address a denied and an allowed packet every millisecond before, during and after an action. */
export async function duringSteadyFlows(
  { through }: StackFixture,
  disturb: () => Promise<void>,
  addresses: readonly string[] = FAMILIES.map((family) => SERVER[family]),
): Promise<SteadyFlow[]> {
  const flows = addresses.flatMap((to) => [
    { to, allowed: false, packet: flowTo(to, 27_015) },
    { to, allowed: true, packet: flowTo(to, OPEN_PORT) },
  ]);
  const stream = await through.steadily(flows.map((flow) => flow.packet));
  await setTimeout(AROUND_MS);
  await disturb();
  for (const flow of flows) await through.restored(flow.packet);
  await setTimeout(AROUND_MS);
  const sent = await stream.stop();
  return flows.map(({ to, allowed }, index) => ({ to, allowed, sent: sent[index] ?? [] }));
}

function flowTo(destination: string, destinationPort: number): ProbePacket {
  return packet(destination.includes(':') ? 6 : 4, 'udp', { destination, destinationPort });
}

/** Asserts that no denied packet passed and no allowed packet was dropped. */
export function assertUndisturbed(flows: readonly SteadyFlow[]): void {
  for (const flow of flows) assertNoneAstray(flow);
}

/** Asserts that no denied packet passed. Allowed packets had no route for a while, and without a route none is sent. */
export function assertNothingDeniedPassed(flows: readonly SteadyFlow[]): void {
  for (const flow of flows) if (!flow.allowed) assertNoneAstray(flow);
}

function assertNoneAstray({ to, allowed, sent }: SteadyFlow): void {
  assert.ok(sent.length > ENOUGH, `${sent.length} packets`);
  const astray = sent.filter(({ passed }) => passed !== allowed).map(({ atMs }) => atMs);
  const what = `packets to ${to} that should ${allowed ? '' : 'not '}pass, of ${sent.length}`;
  const when = astray.map((atMs) => atMs - (sent[0]?.atMs ?? 0)).slice(0, 20);
  assert.ok(astray.length <= AT_COMMIT, `${astray.length} ${what}, first ms: ${when.join(' ')}`);
}
