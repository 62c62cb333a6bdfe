import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiAnswer, ApiClient } from '../../stack/api-client.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { ORGANISATION } from '../../stack/stack.ts';
import type { Sent } from '../../wire/path.ts';
import { startStackFixture, type StackFixture, packet, whyNot } from '../stack-fixture.ts';

const SOONEST = '2026-01-01T00:00:00+00:00';
/** From a fleet file that is written until the moment that it names, beside the time that this takes. */
const AHEAD_MS = 2_500;
/** Longer than a handover may take, so that what comes too late shows. */
const BEYOND_MS = 1_500;
const HANDOVER_MS = 10_000;
const FAMILIES = [4, 6] as const;

interface Read {
  readonly data: { readonly rules: readonly { readonly id: number }[]; readonly filters: object[] };
}

/** The server's addresses: of acme, then of beta, then whose the prefix around them is: of acme. */
interface Spans {
  readonly acmeUntil?: string;
  readonly betaSince?: string;
  readonly betaUntil?: string;
}

let fixture: StackFixture;

describe('addresses that pass from one holder to another while packets flow', {
  skip: whyNot(),
}, () => {
  const acmeRules = new Map<4 | 6, number>();
  before(async () => {
    fixture = await startStackFixture('holdings', { fleet: fleet({}) });
  });
  after(() => fixture.stop());

  it("at that moment the old holder's rules leave the wire, and the new holder starts empty", async (t) => {
    const { api, other } = fixture.stack;
    for (const family of FAMILIES) {
      const deny = { action: 'deny', protocol: 'udp', destination_port: '27015' } as const;
      acmeRules.set(family, (await api.createRule(SERVER[family], deny))[0] ?? 0);
      assert.equal((await read(other, family)).status, 404);
    }
    const lags = await handOver(
      (at) => ({ acmeUntil: at, betaSince: at }),
      (family) => packet(family, 'udp'),
    );
    t.diagnostic(`milliseconds after the moment, IPv4 and IPv6: ${lags.join(', ')}`);
    for (const family of FAMILIES) {
      const now = await read(other, family);
      assert.equal(now.status, 200);
      assert.deepEqual([now.body.data.rules, now.body.data.filters], [[], []]);
      await expectGone(api, family, acmeRules.get(family) ?? 0);
    }
  });

  it('a rule on the containing prefix does not apply to an address that another organisation holds', async () => {
    const { through } = fixture;
    for (const [index, family] of FAMILIES.entries()) {
      const inside = packet(family, 'udp', { destinationPort: 19 });
      assert.equal(await through.passes(inside), true);
      const beside = { ...inside, destination: SERVER.neighbours[index] ?? '' };
      assert.equal(await through.passes(beside), false);
    }
  });

  it('when they fall back, neither holder’s own rules come back, and the prefix judges them', async () => {
    const { stack, through } = fixture;
    const betaRules = new Map<4 | 6, number>();
    for (const family of FAMILIES) {
      const deny = { action: 'deny', protocol: 'tcp' } as const;
      betaRules.set(family, (await stack.other.createRule(SERVER[family], deny))[0] ?? 0);
    }
    await handOver(
      (at) => ({ ...spans, betaUntil: at }),
      (family) => packet(family, 'tcp'),
    );
    for (const family of FAMILIES) {
      assert.equal(await through.passes(packet(family, 'udp')), true);
      assert.equal(await through.passes(packet(family, 'udp', { destinationPort: 19 })), false);
      const now = await read(stack.api, family);
      assert.equal(now.status, 200);
      const ids = now.body.data.rules.map(({ id }) => id);
      assert.equal(ids.includes(acmeRules.get(family) ?? 0), false);
      assert.equal(ids.includes(betaRules.get(family) ?? 0), false);
      await expectGone(stack.other, family, betaRules.get(family) ?? 0);
    }
  });
});

/** The spans that the fleet file said last. */
let spans: Spans = {};

/**
 * Writes the holdings of a moment to come into the fleet file, and keeps sending what is denied before it and
 * not after. Returns by how much the last dropped packet of each family was late, in milliseconds.
 */
async function handOver(
  change: (at: string) => Spans,
  probe: (family: 4 | 6) => ReturnType<typeof packet>,
): Promise<number[]> {
  const { stack, through } = fixture;
  const begin = performance.now();
  await stack.applyFleet(fleet(spans));
  // So long it takes this machine; then the moment is still to come when packets flow.
  const moment = Date.now() + AHEAD_MS + 3 * (performance.now() - begin);
  spans = change(new Date(moment).toISOString().replace('Z', '+00:00'));
  await stack.applyFleet(fleet(spans));
  const streams = FAMILIES.map((family) => through.settledStream(() => probe(family)));
  await new Promise((resolve) => setTimeout(resolve, moment + BEYOND_MS - Date.now()));
  const sent = await Promise.all(streams.map((stream) => stream.stop()));
  return sent.map((packets) => lateness(packets, moment));
}

function lateness(packets: readonly Sent[], moment: number): number {
  const early = packets.filter(({ settledMs }) => settledMs < moment);
  assert.ok(early.length > 10, `${early.length} packets before the moment`);
  const wrong = early.flatMap((one) => (one.passed ? [Math.round(one.atMs - moment)] : []));
  assert.deepEqual(wrong, [], `passed before the moment, of ${early.length}`);
  const late = packets.filter(({ atMs, passed }) => atMs >= moment && !passed);
  const lag = Math.max(0, ...late.map(({ atMs }) => atMs - moment));
  assert.ok(lag < HANDOVER_MS, `still enforced ${lag} ms after the moment`);
  return lag;
}

function read(api: ApiClient, family: 4 | 6): Promise<ApiAnswer<Read>> {
  return api.call<Read>('GET', `/api/v1/firewall/ips/${SERVER[family]}`);
}

/** Whoever held the address before gets no further than somebody who never did. */
async function expectGone(api: ApiClient, family: 4 | 6, id: number): Promise<void> {
  const path = `firewall/ips/${SERVER[family]}`;
  const answers = [
    await api.call('GET', `/api/v1/${path}`),
    await api.call('GET', `/api/x1/${path}`),
    await api.call('DELETE', `/api/v1/${path}/rules`, { ids: [id] }),
    await api.call('POST', `/api/v1/${path}/rules`, { action: 'deny', protocol: 'any' }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 404, 404, 404],
  );
}

function fleet({ acmeUntil, betaSince, betaUntil }: Spans): string {
  const held = (since: string, until?: string): string =>
    FAMILIES.map((family) => {
      const end = until === undefined ? '' : `, until: "${until}"`;
      return `{ ip: "${SERVER[family]}", since: "${since}"${end} }`;
    }).join(', ');
  const beta = betaSince === undefined ? '' : held(betaSince, betaUntil);
  return `organisations:
  ${ORGANISATION}:
    name: Acme
    flags: [firewall_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "${SOONEST}" }
      - { cidr: "2001:db8:5::/48", asn: 64500, since: "${SOONEST}" }
    services:
      - { id: 501, name: survival, addresses: [${held(SOONEST, acmeUntil)}] }
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage], secret: "\${LAB_KEY}" }
    groups:
      - name: prefix
        rules: [{ action: deny, protocol: udp, destination_port: "19" }]
        addresses: [203.0.113.0/24, "2001:db8:5::/48"]
  beta:
    name: Beta
    flags: [firewall_api]
    limits: { requests_per_minute: 1000000 }
    services:
      - { id: 601, name: creative, addresses: [${beta}] }
    keys:
      - { name: beta, abilities: [firewall.read, firewall.manage], secret: "\${LAB_OTHER_KEY}" }
edges:
  - { name: lab, devices: [${EDGE_DEVICE}] }
`;
}
