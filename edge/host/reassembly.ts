import type { Sysctls } from '@portcullis/dataplane/kernel/sysctls.ts';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FragmentLimits,
  REASSEMBLY_SECONDS,
  reassemblyBytes,
} from '@portcullis/core/firewall/fragment-limits.ts';
import type { Log } from '@portcullis/core/log.ts';

export interface ReassemblyOptions {
  readonly sysctls: Sysctls;
  readonly limits: FragmentLimits;
  /** Holds the original settings across restarts. */
  readonly stateDir: string;
  readonly log: Log;
}

/** The settings of incomplete datagrams: IPv4, IPv6 in connection tracking, and IPv6 of the host itself. */
const MEMORIES = [
  { bytes: 'net/ipv4/ipfrag_high_thresh', seconds: 'net/ipv4/ipfrag_time' },
  {
    bytes: 'net/netfilter/nf_conntrack_frag6_high_thresh',
    seconds: 'net/netfilter/nf_conntrack_frag6_timeout',
  },
  { bytes: 'net/ipv6/ip6frag_high_thresh', seconds: 'net/ipv6/ip6frag_time' },
] as const;
const ORIGINALS = 'reassembly.json';
/** Incomplete datagrams of each family may fill one eighth of the host's memory. */
export const MEMORY_SHARE = 8;

/**
 * Sets the memory limit of reassembly to what fragments within the fragment limits can fill until their timeout, so
 * that the kernel never refuses fragments that passed the limits. Limits are only raised and timeouts only shortened;
 * a limit allocates nothing.
 * https://docs.kernel.org/networking/ip-sysctl.html (ipfrag_*)
 */
export class Reassembly {
  readonly #options: ReassemblyOptions;
  readonly #wanted: ReadonlyMap<string, { value: number; wrong: (now: number) => boolean }>;
  #problem: string | null = null;

  constructor(options: ReassemblyOptions) {
    this.#options = options;
    const needed = reassemblyBytes(options.limits);
    const bytes = { value: needed, wrong: (now: number) => now < needed };
    const seconds = {
      value: REASSEMBLY_SECONDS,
      wrong: (now: number) => now > REASSEMBLY_SECONDS,
    };
    this.#wanted = new Map(
      MEMORIES.flatMap((memory) => [
        [memory.bytes, bytes],
        [memory.seconds, seconds],
      ]),
    );
  }

  problems(): string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  /** Called after an apply: some settings exist only once the table requires reassembly. Never throws. */
  apply(): void {
    const { sysctls, log } = this.#options;
    const before = this.#originals();
    const failed: string[] = [];
    const replaced: Record<string, number> = {};
    for (const [name, { value, wrong }] of this.#wanted) {
      const now = sysctls.read(name);
      if (now === null || !wrong(now)) continue;
      if (!this.#set(name, value)) failed.push(`${name} to ${value}`);
      else if (before[name] === undefined) replaced[name] = now;
    }
    if (Object.keys(replaced).length > 0) this.#save({ ...before, ...replaced });
    const problem =
      failed.length === 0
        ? null
        : `A flood of fragments may fill the memory of reassembly: could not set ${failed.join(', ')}.`;
    if (problem !== null && problem !== this.#problem)
      log.warn({ problem }, 'reassembly could not get its memory');
    this.#problem = problem;
  }

  /** Restores the original settings, except those that were changed since. Never throws. */
  restore(): void {
    for (const [name, value] of Object.entries(this.#originals())) {
      if (this.#options.sysctls.read(name) === this.#wanted.get(name)?.value)
        this.#set(name, value);
    }
    this.#problem = null;
    try {
      rmSync(this.#file, { force: true });
    } catch (error) {
      this.#options.log.warn({ error }, 'the original settings of reassembly could not be deleted');
    }
  }

  #set(name: string, value: number): boolean {
    try {
      this.#options.sysctls.write(name, value);
      return true;
    } catch {
      return false;
    }
  }

  get #file(): string {
    return join(this.#options.stateDir, ORIGINALS);
  }

  #originals(): Readonly<Record<string, number>> {
    try {
      const entries = Object.entries(JSON.parse(readFileSync(this.#file, 'utf8')) as object);
      return Object.fromEntries(
        entries.filter(
          (entry): entry is [string, number] =>
            this.#wanted.has(entry[0]) && Number.isSafeInteger(entry[1]),
        ),
      );
    } catch {
      return {};
    }
  }

  #save(before: Readonly<Record<string, number>>): void {
    try {
      mkdirSync(this.#options.stateDir, { recursive: true });
      writeFileSync(this.#file, `${JSON.stringify(before)}\n`);
    } catch (error) {
      this.#options.log.warn({ error }, 'the original settings of reassembly will not be restored');
    }
  }
}
