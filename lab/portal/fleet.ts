import { EDGE_DEVICE, HOST, SERVER } from '../stack/internet.ts';

/** A game server that runs on the edge host itself: the shipped example. */
export const GAME = {
  uuid: '7c9b2c1e-5d0a-4f6e-9a51-0d5b7a1e0001',
  name: 'Hearth',
  ip: HOST[4],
  port: 7777,
} as const;
/** So that a node of plain processes runs it. */
export const WITH_GAMES = ['--enforce', '--engine', 'process'] as const;

/** What the tests of the portal and its pictures look at. */
export const PORTAL_FLEET = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
      - { cidr: "2001:db8:5::/48", asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    services:
      - id: 501
        name: survival
        addresses:
          - { ip: ${SERVER[4]}, since: "2026-01-01T00:00:00+00:00" }
          - { ip: 203.0.113.20, since: "2026-01-01T00:00:00+00:00" }
          - { ip: 203.0.113.21, since: "2026-01-01T00:00:00+00:00" }
          - { ip: "${SERVER[6]}", since: "2026-01-01T00:00:00+00:00" }
      - id: 502
        name: lobby
        addresses:
          - { ip: 203.0.113.40, since: "2026-01-01T00:00:00+00:00" }
          - { ip: 203.0.113.41, since: "2026-01-01T00:00:00+00:00" }
      - id: 503
        name: worlds
        addresses:
          - { ip: ${HOST[4]}, since: "2026-01-01T00:00:00+00:00" }
    groups:
      - name: no-amplification
        rules: [{ action: deny, protocol: udp, destination_port: "1900" }]
        addresses: [${SERVER[4]}, 203.0.113.20]
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage, attacks.read, game-servers.read, game-servers.manage], secret: "\${LAB_KEY}" }
edges:
  - { name: fra1, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
nodes:
  - { name: fra1-games }
game_servers:
${[
  { ...GAME, more: 'variables: { MOTD: "The fire is lit." }' },
  { uuid: GAME.uuid.replace(/1$/, '2'), name: 'Lobby', ip: HOST[4], port: 7778, more: '' },
  {
    uuid: GAME.uuid.replace(/1$/, '3'),
    name: 'Old arena',
    ip: HOST[4],
    port: 7779,
    more: 'suspended: true',
  },
]
  .map(
    ({ uuid, name, ip, port, more }) => `  - uuid: ${uuid}
    organisation: acme
    service: 503
    name: ${name}
    node: fra1-games
    egg: eggs/hearth.json
    limits: { memory: 256, cpu: 100, disk: 256 }
    allocation: { ip: ${ip}, port: ${port} }
    ${more}`,
  )
  .join('\n')}
`;
