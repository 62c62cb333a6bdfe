import { readFileSync, writeFileSync } from 'node:fs';
import {
  type FragmentLimits,
  REASSEMBLY_SECONDS,
  reassemblyBytes,
} from '@portcullis/core/firewall/fragment-limits.ts';

/** Settings of this network namespace, by their path under /proc/sys. */
export interface Sysctls {
  /** Null: this kernel has no such setting (the module is not loaded). */
  read(name: string): number | null;
  write(name: string, value: number): void;
}

/** Where incomplete datagrams wait: IPv4's, IPv6's for connection tracking, and IPv6's at the host itself. */
const MEMORIES = [
  { bytes: 'net/ipv4/ipfrag_high_thresh', seconds: 'net/ipv4/ipfrag_time' },
  {
    bytes: 'net/netfilter/nf_conntrack_frag6_high_thresh',
    seconds: 'net/netfilter/nf_conntrack_frag6_timeout',
  },
  { bytes: 'net/ipv6/ip6frag_high_thresh', seconds: 'net/ipv6/ip6frag_time' },
] as const;

/**
 * Gives reassembly the memory that fragments within the limits can fill in the time they may wait, so that
 * what the limits let through is never turned away. Memory is only ever raised and the wait only ever
 * shortened; the memory is a ceiling, nothing is allotted. Answers what could not be set, in words; null: all
 * is as it must be. https://docs.kernel.org/networking/ip-sysctl.html (ipfrag_*)
 */
export function makeRoomForReassembly(sysctls: Sysctls, limits: FragmentLimits): string | null {
  const needed = reassemblyBytes(limits);
  const failed = MEMORIES.flatMap(({ bytes, seconds }) => [
    ...set(sysctls, bytes, needed, (now) => now < needed),
    ...set(sysctls, seconds, REASSEMBLY_SECONDS, (now) => now > REASSEMBLY_SECONDS),
  ]);
  return failed.length === 0 ? null : `could not set ${failed.join(', ')}`;
}

function set(
  sysctls: Sysctls,
  name: string,
  value: number,
  wrong: (now: number) => boolean,
): string[] {
  const now = sysctls.read(name);
  if (now === null || !wrong(now)) return [];
  try {
    sysctls.write(name, value);
    return [];
  } catch {
    return [`${name} to ${value}`];
  }
}

/** Those of the network namespace that this process is in. */
export function createSysctls(): Sysctls {
  return {
    read: (name) => {
      try {
        return Number(readFileSync(`/proc/sys/${name}`, 'utf8'));
      } catch {
        return null;
      }
    },
    write: (name, value) => writeFileSync(`/proc/sys/${name}`, `${value}\n`),
  };
}
