import { readFileSync } from 'node:fs';
import { eachConnection } from '../kernel/conntrack.ts';
import type { Log } from '../log.ts';
import { readDevice } from './device.ts';
import type { EarlySettings } from './driver.ts';
import { EarlyDrop } from './early-drop.ts';
import type { Flow } from './flow-marks.ts';
import { createKernelDriver } from './kernel-driver.ts';

/** The early drop of this host. `pins`: a folder in a bpffs, for what outlives the agent. */
export function createEarlyDrop(pins: string, log: Log): EarlyDrop {
  const driver = createKernelDriver({ pins });
  return new EarlyDrop({ driver, readDevice, openFlows, remember: readTimeouts, log });
}

/** Every connection as its replies come in, from either side: which side is ours only its host knows. */
async function openFlows(): Promise<Flow[]> {
  const flows: Flow[] = [];
  await eachConnection(({ reply }) => {
    flows.push({
      family: reply.family,
      protocol: reply.protocol,
      local: Buffer.from(reply.destination),
      remote: Buffer.from(reply.source),
      localPort: reply.destinationPort ?? 0,
      remotePort: reply.sourcePort ?? 0,
    });
  });
  return flows;
}

/** For how long connection tracking remembers, and a minute more. */
function readTimeouts(): EarlySettings['remember'] {
  return {
    tcp: timeout('nf_conntrack_tcp_timeout_established', 432_000) + 60,
    udp: timeout('nf_conntrack_udp_timeout_stream', 120) + 60,
    other: timeout('nf_conntrack_generic_timeout', 600) + 60,
  };
}

function timeout(name: string, otherwise: number): number {
  try {
    return Number(readFileSync(`/proc/sys/net/netfilter/${name}`, 'utf8'));
  } catch {
    return otherwise;
  }
}
