import { readdirSync, readFileSync } from 'node:fs';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { eachConnection, type Tuple } from '../kernel/netlink/conntrack.ts';
import type { Log } from '@portcullis/core/log.ts';
import { deviceName, listDevices, readDevice } from './devices/device.ts';
import { openLearnedReader } from '../nftables/elements/learned-reader.ts';
import type { EarlySettings } from './driver/driver.ts';
import { EarlyDrop } from './early-drop.ts';
import type { ForwardingHost } from './forwarding/fast-path.ts';
import { planPorts, readPortFacts } from './forwarding/ports.ts';
import { skippedOnHost } from './forwarding/skipped.ts';
import type { Flow } from './flows/mark-keys.ts';
import { addressBytes } from './maps/layout.ts';
import { createKernelDriver } from './driver/kernel-driver.ts';

/** The early drop of this host. */
export function createEarlyDrop(options: {
  readonly pins: string;
  readonly capacity: number;
  /** Whether answered flows are forwarded without the network stack where that skips nothing. */
  readonly fastPath: boolean;
  readonly log: Log;
}): EarlyDrop {
  const { log, capacity, pins, fastPath } = options;
  const driver = createKernelDriver({
    pins,
    capacity,
    // Without it, the table only spares the evaluation of answers.
    flows: fastPath ? readFlows() : FEWEST_FLOWS,
  });
  const forwarding = fastPath ? createForwardingHost() : null;
  const remember = createTimeouts();
  const devices = { readDevice, deviceName, listDevices };
  return new EarlyDrop({ driver, ...devices, openFlows, remember, forwarding, log });
}

/** This host. */
export function createForwardingHost(): ForwardingHost {
  const hasUppers = (name: string): boolean => readDevice(name)?.uppers.length !== 0;
  return {
    skipped: skippedOnHost,
    ports: (entries, answering) =>
      planPorts(readPortFacts({ entries, answering }, hasUppers), entries),
  };
}

const [FEWEST_FLOWS, MOST_FLOWS] = [2 ** 13, 2 ** 18];

/** Half of what connection tracking has places for, which follows the memory of the host. A flow takes 256 bytes. */
function readFlows(): number {
  const places = timeout('nf_conntrack_max') || 2 ** 16;
  return Math.min(MOST_FLOWS, Math.max(FEWEST_FLOWS, places / 2));
}

/** The flows of connection tracking, and what validated sources send. */
async function openFlows(take: (flow: Flow) => void): Promise<boolean> {
  await validatedFlows(take);
  return trackedFlows(take);
}

/**
 * Reports both directions of every connection as replies, because connection tracking does not know which side is
 * protected: its replies, and its own packets once it was answered, as the programs mark what leaves (not of TCP).
 * Resolves to false if some may be missing.
 */
export function trackedFlows(take: (flow: Flow) => void): Promise<boolean> {
  return eachConnection((connection) => {
    take(flowOf(connection.reply));
    if (connection.isAnswered && connection.protocol !== TCP) take(flowOf(connection));
  });
}

/** The flow whose packets the tuple describes. */
function flowOf({ family, protocol, source, destination, ...ports }: Tuple): Flow {
  return {
    family,
    protocol,
    local: destination,
    remote: source,
    localPort: ports.destinationPort ?? 0,
    remotePort: ports.sourcePort ?? 0,
  };
}

/** Sources stay validated for longer than connection tracking knows them. */
async function validatedFlows(take: (flow: Flow) => void): Promise<void> {
  const reader = openLearnedReader();
  const bytesOf = (text: string): Buffer | null => {
    const address = parseAddress(text);
    return address.ok ? addressBytes(address.value) : null;
  };
  try {
    for (const family of [4, 6] as const)
      for (const { fields } of (await reader.read('validated', family)) ?? []) {
        const [source = '', sourcePort, destination = '', port] = fields;
        const [remote, local] = [bytesOf(source), bytesOf(destination)];
        if (remote === null || local === null) continue;
        const ports = { localPort: Number(port), remotePort: Number(sourcePort) };
        take({ family, protocol: UDP, local, remote, ...ports });
      }
  } finally {
    reader.close();
  }
}

const [TCP, UDP] = [6, 17];
const TIMEOUTS = '/proc/sys/net/netfilter';
const REREAD_MS = 10_000;

/** The longest timeouts of connection tracking and of validated sources plus a minute. Read again after some seconds. */
function createTimeouts(): () => EarlySettings['remember'] {
  let known = readTimeouts();
  let readMs = performance.now();
  return () => {
    if (performance.now() - readMs > REREAD_MS) {
      known = readTimeouts();
      readMs = performance.now();
    }
    return known;
  };
}

/** For which a source may stay validated without traffic. */
const VALIDATED_SECONDS = Math.max(120, ...FILTERS.map(({ udp }) => udp?.validatedSeconds ?? 0));

function readTimeouts(): EarlySettings['remember'] {
  const names = listTimeouts();
  const longest = (pattern: RegExp, atLeast: number): number =>
    Math.max(atLeast, ...names.filter((name) => pattern.test(name)).map(timeout)) + 60;
  return {
    tcp: longest(/_tcp_timeout_established$/, 432_000),
    udp: longest(/_udp_timeout/, VALIDATED_SECONDS),
    other: longest(/^nf_conntrack_(?!tcp_|udp_).*timeout/, 600),
  };
}

function listTimeouts(): string[] {
  try {
    return readdirSync(TIMEOUTS);
  } catch {
    return [];
  }
}

function timeout(name: string): number {
  try {
    return Number(readFileSync(`${TIMEOUTS}/${name}`, 'utf8')) || 0;
  } catch {
    return 0;
  }
}
