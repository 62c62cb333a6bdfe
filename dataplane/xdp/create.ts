import { readdirSync, readFileSync } from 'node:fs';
import { eachConnection } from '../kernel/netlink/conntrack.ts';
import type { Log } from '@portcullis/core/log.ts';
import { deviceName, listDevices, readDevice } from './devices/device.ts';
import type { EarlySettings } from './driver/driver.ts';
import { EarlyDrop } from './early-drop.ts';
import type { Flow } from './flows/mark-keys.ts';
import { createKernelDriver } from './driver/kernel-driver.ts';

/** The early drop of this host. */
export function createEarlyDrop(options: {
  readonly pins: string;
  readonly capacity: number;
  readonly log: Log;
}): EarlyDrop {
  const { log, capacity, pins } = options;
  const driver = createKernelDriver({ pins, capacity });
  const remember = createTimeouts();
  const devices = { readDevice, deviceName, listDevices };
  return new EarlyDrop({ driver, ...devices, openFlows, remember, log });
}

/**
 * Reports both directions of every connection as replies: connection tracking does not know which side is protected.
 */
function openFlows(take: (flow: Flow) => void): Promise<boolean> {
  return eachConnection(({ reply }) =>
    take({
      family: reply.family,
      protocol: reply.protocol,
      local: reply.destination,
      remote: reply.source,
      localPort: reply.destinationPort ?? 0,
      remotePort: reply.sourcePort ?? 0,
    }),
  );
}

const TIMEOUTS = '/proc/sys/net/netfilter';
const REREAD_MS = 10_000;

/** The timeouts of connection tracking plus a minute. Read again after some seconds. */
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

function readTimeouts(): EarlySettings['remember'] {
  const names = listTimeouts();
  const longest = (pattern: RegExp, atLeast: number): number =>
    Math.max(atLeast, ...names.filter((name) => pattern.test(name)).map(timeout)) + 60;
  return {
    tcp: longest(/_tcp_timeout_established$/, 432_000),
    udp: longest(/_udp_timeout/, 120),
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
