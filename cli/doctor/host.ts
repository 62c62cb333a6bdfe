import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statfsSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { readHostNetwork } from '../up/host-network.ts';

/** Facts of a host that the checks read. Nothing of it changes anything. */
export interface Host {
  readonly isRoot: boolean;
  /** Trimmed; null: there is no such file, or it may not be read. */
  file(path: string): string | null;
  /** The output of a program that ended with 0; null otherwise, and if it is missing. */
  output(command: string, ...args: readonly string[]): string | null;
  /** The nearest folder that exists; null if it cannot be read. */
  disk(path: string): { readonly freeBytes: number; readonly sizeBytes: number } | null;
  /** Devices that lead to the outside. */
  devices(): readonly string[];
  reaches(host: string, port: number): Promise<boolean>;
  /** The HTTP status, or why there is none. */
  status(url: string): Promise<number | Error>;
  /** The JSON document at a URL; null without one. */
  document(url: string): Promise<unknown>;
}

const TIMEOUT_MS = 5_000;

export const HOST: Host = {
  isRoot: process.getuid?.() === 0,
  file(path) {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch {
      return null;
    }
  },
  output(command, ...args) {
    const { status, stdout } = spawnSync(command, args, {
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      env: { ...process.env, LC_ALL: 'C' },
    });
    return status === 0 ? stdout.trim() : null;
  },
  disk(path) {
    for (let at = path; ; at = dirname(at)) {
      try {
        const { bavail, bsize, blocks } = statfsSync(at);
        return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
      } catch {
        if (at === dirname(at)) return null;
      }
    }
  },
  devices: () => readHostNetwork().devices,
  async reaches(host, port) {
    const socket = connect({ host, port, timeout: TIMEOUT_MS });
    try {
      const connected = once(socket, 'connect').then(() => true);
      const timedOut = once(socket, 'timeout').then(() => false);
      return await Promise.race([connected, timedOut]);
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  },
  async status(url) {
    try {
      return (await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })).status;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  },
  async document(url) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      return await answer.json();
    } catch {
      return null;
    }
  },
};
