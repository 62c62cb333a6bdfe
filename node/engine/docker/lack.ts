import { existsSync } from 'node:fs';
import type { DockerLack } from '@portcullis/core/game-servers/host-engines.ts';

const DAEMONS = ['/usr/bin/dockerd', '/usr/sbin/dockerd', '/usr/local/bin/dockerd'];

/** Why Docker did not answer, from the error of a call: its causes end at that of the system. */
export function lackOf(error: unknown): DockerLack {
  let last = error;
  while (last instanceof Error && last.cause !== undefined) last = last.cause;
  switch (Object(last).code) {
    case 'ENOENT':
      return DAEMONS.some((path) => existsSync(path)) ? 'stopped' : 'absent';
    case 'ECONNREFUSED':
      return 'stopped';
    case 'EACCES':
    case 'EPERM':
      return 'forbidden';
    default:
      return 'silent';
  }
}
