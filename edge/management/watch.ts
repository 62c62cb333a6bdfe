import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import { administeredAt, findManagement, type HostSockets, parseSockets } from './sockets.ts';

/** The programs whose sockets are how a host is administered, by the name of their process. */
export const ADMINISTRATION = ['sshd', 'sshd-session', 'dropbear'];

const POLL_MS = 3_000;
const FILES = [
  ['tcp', 'tcp'],
  ['tcp6', 'tcp'],
  ['udp', 'udp'],
  ['udp6', 'udp'],
] as const;

/**
 * Reads by which ports this host is administered now. Needs the rights of root: the sockets of other processes are read,
 * which the agent itself may not do, so its parent does.
 */
export function readManagement(programs: readonly string[] = ADMINISTRATION): ManagementPort[] {
  const sockets = FILES.flatMap(([file, protocol]) =>
    parseSockets(readOr(`/proc/self/net/${file}`, ''), protocol),
  );
  const administering = inodesOf((name) => programs.includes(name));
  const [from = '32768'] = readOr('/proc/sys/net/ipv4/ip_local_port_range', '').split(/\s/);
  const ephemeralFrom = Number(from) || 32_768;
  const known: HostSockets = { sockets, administering, owned: null, ephemeralFrom };
  if (![...administeredAt(known)].some(isOnTunnel)) return findManagement(known);
  return findManagement({ ...known, owned: inodesOf(() => true) });
}

/** Calls `changed` when the ports change, until the returned function is called. */
export function watchManagement(
  known: readonly ManagementPort[],
  changed: (ports: readonly ManagementPort[]) => void,
): () => void {
  let last = JSON.stringify(known);
  const timer = setInterval(() => {
    const ports = readManagement();
    const text = JSON.stringify(ports);
    // Without any, sshd is being restarted: what it listened on stays open until it listens again.
    if (text === last || ports.length === 0) return;
    last = text;
    changed(ports);
  }, POLL_MS);
  return () => clearInterval(timer);
}

function inodesOf(isWanted: (name: string) => boolean): Set<string> {
  const found = new Set<string>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || !isWanted(readOr(`/proc/${pid}/comm`, '').trim())) continue;
    const folder = `/proc/${pid}/fd`;
    for (const fd of listOr(folder)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOr(join(folder, fd)))?.[1];
      if (inode !== undefined) found.add(inode);
    }
  }
  return found;
}

/** Devices of tunnels name their kind, or have no link layer (ARPHRD_NONE and the tunnels of if_arp.h). */
function isOnTunnel(address: string): boolean {
  const device = Object.entries(networkInterfaces()).find(([, all]) =>
    all?.some((one) => one.address === address),
  )?.[0];
  if (device === undefined) return false;
  const kind = /^DEVTYPE=(\w+)$/m.exec(readOr(`/sys/class/net/${device}/uevent`, ''))?.[1] ?? '';
  const type = Number(readOr(`/sys/class/net/${device}/type`, '1'));
  return (
    /^(?:wireguard|vxlan|geneve)$/.test(kind) || type === 65_534 || (type >= 768 && type < 800)
  );
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

function listOr(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function linkOr(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
