import type { ServerLimits } from '@portcullis/core/game-servers/power.ts';
import { EDGE_DEVICE, HOST } from '../stack/internet.ts';
import { ORGANISATION } from '../stack/stack.ts';

/** The fields as a fleet file has it. */
export interface FleetServer {
  readonly uuid: string;
  readonly name: string;
  readonly node: string;
  /** Relative to the fleet file, or as it is shipped. */
  readonly egg: string;
  readonly limits: Pick<ServerLimits, 'memory' | 'cpu' | 'disk'>;
  /** A port of the edge's own address. */
  readonly port: number;
  readonly variables?: Readonly<Record<string, string>>;
}

/** The node that runs here. */
export const NODE = 'lab';
const SERVICE = 501;

/** An operator with one edge and these servers; their nodes are those that they name. */
export function renderGameFleet(
  servers: readonly FleetServer[],
  { managedFilters = true }: { readonly managedFilters?: boolean } = {},
): string {
  const nodes = [...new Set([NODE, ...servers.map(({ node }) => node)])];
  return `organisations:
  ${ORGANISATION}:
    name: Acme Hosting
    flags: [firewall_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    services:
      - id: ${SERVICE}
        name: games
        addresses: [{ ip: ${HOST[4]}, since: "2026-01-01T00:00:00+00:00" }]${managedFilters ? '' : '\n        managed_filters: []'}
    keys:
      - name: lab
        abilities: [firewall.read, game-servers.read, game-servers.manage]
        secret: "\${LAB_KEY}"
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
nodes:${nodes.map((name) => `\n  - { name: ${name} }`).join('')}
game_servers:${servers.map(renderServer).join('')}
`;
}

function renderServer({
  uuid,
  name,
  node,
  egg,
  limits,
  port,
  variables = {},
}: FleetServer): string {
  return `
  - uuid: ${uuid}
    organisation: ${ORGANISATION}
    service: ${SERVICE}
    name: ${name}
    node: ${node}
    egg: ${egg}
    limits: { memory: ${limits.memory}, cpu: ${limits.cpu}, disk: ${limits.disk} }
    allocation: { ip: ${HOST[4]}, port: ${port} }
    variables: ${JSON.stringify(variables)}`;
}
