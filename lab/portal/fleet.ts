import { EDGE_DEVICE, HOST, SERVER } from '../stack/internet.ts';

/** A game server that runs on the edge host itself: the shipped example. */
export const GAME = {
  uuid: '7c9b2c1e-5d0a-4f6e-9a51-0d5b7a1e0001',
  name: 'Hearth',
  ip: HOST[4],
  port: 7777,
  egg: 'eggs/hearth.json',
} as const;
/** A game that writes colours, and what would take over a terminal; then it repeats its commands, until `crash`. */
export const LOBBY = {
  uuid: GAME.uuid.replace(/1$/, '2'),
  name: 'Lobby',
  ip: HOST[4],
  port: 7778,
  egg: 'lobby.json',
} as const;
const WRITES = [
  '\\033[32m[12:00:01 INFO]\\033[0m Starting lobby server version 1.21.4',
  '\\033[33m[12:00:02 WARN]\\033[0m Can\u2019t keep up! Running \\033[1m2040 ms\\033[22m behind',
  '\\033[38;5;208m[12:00:03 ERROR]\\033[0m No such world: \\033[4mnether\\033[24m',
  '\\033]0;owned\\007\\033[2J\\033[H\\033]8;;https://evil.example\\007\\033[8mnot hidden\\033[0m <img src=x onerror=alert(1)>',
  'Lobby is ready',
];
export const LOBBY_EGG = JSON.stringify({
  meta: { version: 'PTDL_v2' },
  name: 'Lobby',
  author: 'lab@localhost',
  docker_images: { Lobby: '~portcullis/hearth' },
  startup: `sh -c 'printf "${WRITES.map((line) => `${line}\\n`).join('')}"; while read -r line; do [ "$line" = crash ] && exit 3; echo "> $line"; done'`,
  config: { files: '{}', startup: '{"done": "Lobby is ready"}', logs: '{}', stop: '^C' },
  scripts: {},
  variables: [],
  portcullis: { launch: 'startup' },
});
/** The files beside the fleet file. */
export const PORTAL_FILES = { [LOBBY.egg]: LOBBY_EGG };

/** Small floods are attacks here, so that a test can send one. */
export const ATTACKED = {
  ip: '203.0.113.40',
  neighbour: '203.0.113.41',
  thresholdPps: 200,
} as const;
/** So that a node of plain processes runs it. */
export const WITH_GAMES = ['--enforce', '--engine', 'process'] as const;

/** The fleet that the tests of the portal and its pictures look at. */
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
        thresholds: { pps: ${ATTACKED.thresholdPps}, hold_seconds: 2 }
        addresses:
          - { ip: ${ATTACKED.ip}, since: "2026-01-01T00:00:00+00:00" }
          - { ip: ${ATTACKED.neighbour}, since: "2026-01-01T00:00:00+00:00" }
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
  { ...LOBBY, more: '' },
  {
    egg: 'eggs/hearth.json',
    uuid: GAME.uuid.replace(/1$/, '3'),
    name: 'Old arena',
    ip: HOST[4],
    port: 7779,
    more: 'suspended: true',
  },
]
  .map(
    ({ uuid, name, ip, port, egg, more }) => `  - uuid: ${uuid}
    organisation: acme
    service: 503
    name: ${name}
    node: fra1-games
    egg: ${egg}
    limits: { memory: 256, cpu: 100, disk: 256 }
    allocation: { ip: ${ip}, port: ${port} }
    ${more}`,
  )
  .join('\n')}
`;
