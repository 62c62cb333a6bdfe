import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { linkOf } from '../bench/generator/traffic.ts';
import { sendFloods } from '../floods/flood.ts';
import { CLIENT, EDGE_DEVICE, HOST, SERVER } from '../stack/internet.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../system/stack-fixture.ts';
import { UdpPeer } from '../wire/udp-peer.ts';

const FILTERED_PORT = 27_500;
const ANSWERING_PORT = 27_700;
const STRANGER_PACKETS = 300;
const THRESHOLD_PPS = 300;
const ATTACKED = SERVER.neighbours[0];
const GAME = '7c9b2c1e-5d0a-4f6e-9a51-0d5b7a1e0001';
const GAME_PORT = 7777;
const GREETING = 'Welcome to the journey.';
const START_MS = 60_000;

/** Every area once, on one stack, from the HTTP interface to the wire. What lies between is shown elsewhere. */
describe('portcullis up', { skip: whyNot() }, () => {
  let fixture: StackFixture;
  before(async () => {
    fixture = await startStackFixture('journey', {
      fleet: FLEET,
      args: ['--enforce', '--engine', 'process'],
    });
  });
  after(() => fixture?.stop());

  it('drops the packets that a rule denies, until the rule is deleted', async () => {
    const { stack, through } = fixture;
    for (const family of [4, 6] as const) {
      const denied = packet(family, 'udp');
      const other = packet(family, 'udp', { destinationPort: 27_016 });
      assert.equal(await through.passes(denied), true);
      const ids = await stack.api.createRule(SERVER[family], {
        action: 'deny',
        protocol: 'udp',
        destination_port: '27015',
      });
      assert.equal(await through.passes(denied), false);
      assert.equal(await through.passes(other), true);
      await stack.api.deleteRules(SERVER[family], ids);
      assert.equal(await through.passes(denied), true);
    }
  });

  it('lets players through a filter, and limits senders that get no answer', async (t) => {
    const { internet, stack } = fixture;
    await stack.api.createFilter(SERVER[4], 'udp-stateful', String(FILTERED_PORT));
    const [server, client] = [new UdpPeer(internet.server), new UdpPeer(internet.client)];
    t.after(async () => {
      await client.stop();
      await server.stop();
    });
    const game = await server.open(SERVER[4], FILTERED_PORT);
    await server.open(SERVER[4], FILTERED_PORT + 1, '');
    const stranger = await client.open(CLIENT[4]);
    await stranger.send(SERVER[4], FILTERED_PORT, STRANGER_PACKETS);
    await stranger.exchange(SERVER[4], FILTERED_PORT + 1);
    const passed = await game.received();
    assert.ok(passed > 0 && passed < STRANGER_PACKETS, `${passed} passed`);
    await stack.api.createFilter(SERVER[4], 'udp-stateful', String(ANSWERING_PORT));
    await server.open(SERVER[4], ANSWERING_PORT, '');
    const player = await client.open(CLIENT[4]);
    await player.exchange(SERVER[4], ANSWERING_PORT);
  });

  it('detects a flood, drops it, and shows it in the attack history', async () => {
    const { internet, stack, through } = fixture;
    const amplified = packet(4, 'udp', { destination: ATTACKED, sourcePort: 53 });
    const player = packet(4, 'udp', { destination: ATTACKED });
    assert.equal(await through.passes(amplified), true);
    const { client, edge } = internet;
    const { ifindex } = linkOf(client, 'eth0');
    const to = linkOf(edge, EDGE_DEVICE).address;
    const plan = { name: 'flood', target: ATTACKED, to, device: 'eth0', ifindex };
    const flooding = new AbortController();
    const flood = sendFloods(
      client,
      [{ ...plan, kind: 'dns', pps: THRESHOLD_PPS * 5, seconds: 60 }],
      flooding.signal,
    ).catch(() => undefined);
    try {
      await eventually('the flood is dropped', async () => !(await through.passes(amplified)));
    } finally {
      flooding.abort();
      await flood;
    }
    assert.equal(await through.passes(player), true);
    const { body } = await stack.api.call<{ readonly data: readonly AttackRead[] }>(
      'GET',
      '/api/v1/attacks',
    );
    assert.deepEqual(
      body.data.map((one) => [one.destination_ip, one.attack_type]),
      [[ATTACKED, 'dns_amplification']],
    );
  });

  it('starts a game server, which answers a player and stops', async () => {
    const { internet } = fixture;
    await eventually('it is provisioned', async () => (await detail()).provisioned, START_MS);
    await power('start');
    await eventually('it runs', async () => (await detail()).state === 'running', START_MS);
    const greeting = internet.client.run(
      'bash',
      '-c',
      `exec 3<>/dev/tcp/${HOST[4]}/${GAME_PORT}; timeout 20 grep -m1 '${GREETING}' <&3`,
    );
    assert.match(greeting, new RegExp(GREETING));
    await power('stop');
    await eventually('it has stopped', async () => (await detail()).state === 'offline', START_MS);
  });

  async function power(signal: 'start' | 'stop'): Promise<void> {
    const path = `/api/v1/game-servers/${GAME}/power`;
    const { status, body } = await fixture.stack.api.call('POST', path, { signal });
    assert.equal(status, 200, JSON.stringify(body));
  }

  async function detail(): Promise<{
    readonly provisioned: boolean;
    readonly state: string | null;
  }> {
    const path = `/api/v1/game-servers/${GAME}`;
    const { body } = await fixture.stack.api.call<{
      readonly data: { readonly provisioned: boolean; readonly state: string | null };
    }>('GET', path);
    return body.data;
  }
});

interface AttackRead {
  readonly destination_ip: string;
  readonly attack_type: string;
}

const SINCE = 'since: "2026-01-01T00:00:00+00:00"';
const ABILITIES =
  'firewall.read, firewall.manage, attacks.read, game-servers.read, game-servers.manage';
const FLEET = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, ${SINCE} }
      - { cidr: "2001:db8:5::/48", asn: 64500, ${SINCE} }
    services:
      - id: 501
        name: game
        managed_filters: []
        addresses: [{ ip: ${HOST[4]}, ${SINCE} }]
      - id: 502
        name: attacked
        thresholds: { pps: ${THRESHOLD_PPS} }
        managed_filters: []
        addresses: [{ ip: ${ATTACKED}, ${SINCE} }]
    keys:
      - { name: lab, abilities: [${ABILITIES}], secret: "\${LAB_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
nodes:
  - { name: local }
game_servers:
  - uuid: ${GAME}
    organisation: acme
    service: 501
    name: hearth
    node: local
    egg: eggs/hearth.json
    limits: { memory: 256, cpu: 100, disk: 256 }
    allocation: { ip: ${HOST[4]}, port: ${GAME_PORT} }
    variables: { MOTD: "${GREETING}" }
`;
