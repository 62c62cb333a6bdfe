import { BUSYBOX } from '../../docker/docker-image.ts';
import { NODE, renderGameFleet } from '../../games/fleet.ts';

const FIRST_PORT = 20_000;

/** A game that says that it runs, and then waits for its console. */
export const IDLE_EGG = JSON.stringify({
  meta: { version: 'PTDL_v2' },
  name: 'Idle',
  docker_images: { busybox: `~${BUSYBOX}` },
  startup: "sh -c 'echo ready; exec cat'",
  config: { files: '{}', startup: '{"done": "ready"}', logs: '{}', stop: '^C' },
  portcullis: { launch: 'startup', protocols: ['udp'] },
});

export function uuidOf(at: number): string {
  return `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
}

/** So many servers: the first are of a node that is there, the others of one that never comes. */
export function serversFleet(listed: number, here: number): string {
  const limits = { memory: 32, cpu: 100, disk: 32 };
  const servers = Array.from({ length: listed }, (_, at) => ({
    uuid: uuidOf(at),
    name: `server-${String(at).padStart(4, '0')}`,
    node: at < here ? NODE : 'elsewhere',
    egg: 'idle.json',
    limits,
    port: FIRST_PORT + at,
  }));
  return renderGameFleet(servers, { managedFilters: false });
}
