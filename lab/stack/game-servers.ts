import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Namespace } from './netns.ts';

/** A game server packaged by Debian, in a namespace. */
export interface RealServer {
  /** CPU time of its process, over all threads. */
  processorNs(): number;
  stop(): void;
}

export const TEEWORLDS = {
  command: '/usr/games/teeworlds-server',
  port: 8303,
  /** A client's first packet, a token request: control packet, message 5, 512 bytes (Teeworlds 0.7). */
  hello: `040000ffffffff0511223344${'00'.repeat(508)}`,
} as const;

export function startTeeworlds(namespace: Namespace): RealServer {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-teeworlds-'));
  const settings = `sv_register 0;sv_port ${TEEWORLDS.port}`;
  return running(namespace, [TEEWORLDS.command, settings], home);
}

export const NGINX = { command: '/usr/sbin/nginx', port: 8080 } as const;

export function startNginx(namespace: Namespace): RealServer {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-nginx-'));
  const conf = join(home, 'nginx.conf');
  writeFileSync(
    conf,
    `daemon off; master_process off; user root; pid ${home}/pid; error_log ${home}/error.log;
     events { worker_connections 4096; }
     http { access_log off; server { listen ${NGINX.port}; listen [::]:${NGINX.port}; return 200 "served\\n"; } }`,
  );
  return running(namespace, [NGINX.command, '-e', `${home}/error.log`, '-c', conf], home);
}

function running(namespace: Namespace, command: readonly string[], home: string): RealServer {
  const child: ChildProcess = namespace.spawn(command, {
    stdio: 'ignore',
    cwd: home,
    env: { ...process.env, HOME: home },
  });
  return {
    // `ip netns exec` becomes the server itself.
    processorNs: () => processorNs(child),
    stop: () => {
      child.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** CPU time of a process, over all threads. */
export function processorNs({ pid }: ChildProcess): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, task) => sum + ranNs(join(tasks, task)), 0);
}

/** CPU time of a task; `about` is its folder below /proc. Exact for short times too, unlike clock ticks. */
export function ranNs(about: string): number {
  return Number(readFileSync(join(about, 'schedstat'), 'utf8').split(' ')[0]);
}
