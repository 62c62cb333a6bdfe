import { BUSYBOX } from '../docker-image.ts';
import { EDGE_DEVICE, HOST } from '../internet.ts';
import { ORGANISATION } from '../stack.ts';

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
  const servers = Array.from(
    { length: listed },
    (_, at) => `
  - uuid: ${uuidOf(at)}
    organisation: ${ORGANISATION}
    service: 501
    name: server-${String(at).padStart(4, '0')}
    node: ${at < here ? 'lab' : 'elsewhere'}
    egg: idle.json
    limits: { memory: 32, cpu: 100, disk: 32 }
    allocation: { ip: ${HOST[4]}, port: ${FIRST_PORT + at} }`,
  );
  return `organisations:
  ${ORGANISATION}:
    name: Acme Hosting
    flags: [firewall_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    services:
      - id: 501
        name: games
        addresses: [{ ip: ${HOST[4]}, since: "2026-01-01T00:00:00+00:00" }]
        managed_filters: []
    keys:
      - name: lab
        abilities: [firewall.read, game-servers.read, game-servers.manage]
        secret: "\${LAB_KEY}"
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
nodes:
  - { name: lab }
  - { name: elsewhere }
game_servers:${servers.join('')}
`;
}
