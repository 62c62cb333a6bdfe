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
  /** Remembers there, over restarts, what was set before us. */
  readonly stateDir: string;
  readonly log: Log;
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
const BEFORE = 'reassembly.json';
/** Incomplete datagrams of each family may fill one part in so many of the host's memory. */
export const MEMORY_SHARE = 8;

/**
 * Gives reassembly the memory that fragments within the limits can fill in the time they may wait, so that
 * what the limits let through is never turned away. Memory is only ever raised and the wait only ever
 * shortened; the memory is a ceiling, nothing is allotted.
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

  /** After an apply: some of the settings are only there once our table asks for reassembly. Never throws. */
  makeRoom(): void {
    const { sysctls, log } = this.#options;
    const before = this.#before();
    const failed: string[] = [];
    const replaced: Record<string, number> = {};
    for (const [name, { value, wrong }] of this.#wanted) {
      const now = sysctls.read(name);
      if (now === null || !wrong(now)) continue;
      if (!this.#set(name, value)) failed.push(`${name} to ${value}`);
      else if (before[name] === undefined) replaced[name] = now;
    }
    if (Object.keys(replaced).length > 0) this.#remember({ ...before, ...replaced });
    const problem =
      failed.length === 0
        ? null
        : `A flood of fragments may fill the memory of reassembly: could not set ${failed.join(', ')}.`;
    if (problem !== null && problem !== this.#problem)
      log.warn({ problem }, 'no room for fragments');
    this.#problem = problem;
  }

  /** As it was before us, except where somebody has set it otherwise since. Never throws. */
  giveBack(): void {
    for (const [name, value] of Object.entries(this.#before())) {
      if (this.#options.sysctls.read(name) === this.#wanted.get(name)?.value)
        this.#set(name, value);
    }
    this.#problem = null;
    try {
      rmSync(this.#file, { force: true });
    } catch (error) {
      this.#options.log.warn({ error }, 'cannot forget what reassembly had before us');
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
    return join(this.#options.stateDir, BEFORE);
  }

  #before(): Readonly<Record<string, number>> {
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

  #remember(before: Readonly<Record<string, number>>): void {
    try {
      mkdirSync(this.#options.stateDir, { recursive: true });
      writeFileSync(this.#file, `${JSON.stringify(before)}\n`);
    } catch (error) {
      this.#options.log.warn({ error }, 'what reassembly had before us will not be given back');
    }
  }
}
