import { setPriority } from 'node:os';
import { CLIENT, createInternet, type Internet, SENTINELS, SERVER } from '../stack/internet.ts';
import { skipUnless } from '../requirements.ts';
import { startServices } from '../stack/services.ts';
import { type Stack, type StackOptions, startStack } from '../stack/stack.ts';
import { Path } from '../wire/path.ts';
import { Probe, type ProbePacket } from '../wire/probe.ts';

/** One running stack and probes on its wires, shared by the tests of a file. */
export interface StackFixture {
  readonly internet: Internet;
  readonly stack: Stack;
  readonly client: Probe;
  readonly server: Probe;
  /** From the client to the server behind the edge. */
  readonly through: Path;
  /** From the client to the edge host itself. */
  readonly toHost: Path;
  stop(): Promise<void>;
}

/** Above what people start. */
const PRIORITY = -10;

export const NEEDS = ['root', 'netns', 'nft', 'python3', 'postgres'] as const;

/** Skips every test of the file where this machine cannot; in CI that is a failure instead. */
export function whyNot(): string | false {
  return skipUnless(NEEDS);
}

export async function startStackFixture(
  label: string,
  options: StackOptions = {},
): Promise<StackFixture> {
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    // So is all that this process starts from here on: what else the machine does keeps it waiting less.
    setPriority(PRIORITY);
    const internet = createInternet(label);
    undo.push(() => internet.destroy());
    const services = startServices(internet);
    undo.push(() => services.stop());
    const probe = async (where: 'client' | 'server' | 'edge'): Promise<Probe> => {
      const made = await new Probe(internet[where]).started();
      undo.push(() => made.stop());
      return made;
    };
    const client = await probe('client');
    const server = await probe('server');
    const through = new Path(client, server, SENTINELS.server);
    const toHost = new Path(client, await probe('edge'), SENTINELS.host);
    const stack = await startStack(internet, options);
    undo.push(() => stack.stop());
    return { internet, stack, client, server, through, toHost, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const PATIENCE_MS = 60_000;
let lastPort = 20_000;

/** A packet of a new flow, so that connection tracking has never seen it. */
export function packet(
  family: 4 | 6,
  protocol: ProbePacket['protocol'],
  more: Partial<ProbePacket> = {},
): ProbePacket {
  const withPorts = protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp';
  lastPort = lastPort >= 60_000 ? 20_000 : lastPort + 1;
  return {
    source: CLIENT[family],
    destination: SERVER[family],
    protocol,
    ...(withPorts ? { sourcePort: lastPort, destinationPort: 27_015 } : {}),
    ...(protocol === 'icmp' || protocol === 'icmpv6' ? { icmp: [family === 4 ? 8 : 128, 0] } : {}),
    ...more,
  };
}

/** Resolves when it holds; fails after a while, saying what was hoped for. */
export async function eventually(
  hope: string,
  holds: () => Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`in vain: ${hope}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Resolves when the agent that runs now has its work in the kernel: what another one confirmed counts as enforced for as
 * long as its lease, so an answer to that says nothing of a new one.
 */
export async function takesOver({ api }: Stack): Promise<void> {
  const ids = await api.createRule(SERVER[4], { action: 'deny', protocol: 'gre' });
  await api.deleteRules(SERVER[4], ids);
}

/** Whether an HTTP GET from a namespace gets an answer. Where none is hoped for, `--max-time 1` among `options` is enough. */
export function reaches(
  from: Internet[keyof Internet & ('client' | 'edge' | 'container' | 'server')],
  url: string,
  ...options: string[]
): boolean {
  try {
    from.run('curl', '-s', '-o', '/dev/null', '--max-time', '20', ...options, url);
    return true;
  } catch {
    return false;
  }
}
