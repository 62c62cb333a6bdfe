import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { edgeStatus } from '../../stack/edge-status.ts';
import { HOST } from '../../stack/internet.ts';
import { answersSsh, startSshd } from '../../stack/sshd.ts';
import { defaultFleet } from '../../stack/stack.ts';
import {
  eventually,
  NEEDS,
  packet,
  startStackFixture,
  type StackFixture,
} from '../../system/stack-fixture.ts';

const SSH_PORT = 2222;
/** Around the addresses of the edge host. */
const PREFIXES = { 4: '198.51.100.0/24', 6: '2001:db8:e::/48' } as const;
const SINCE = 'since: "2026-01-01T00:00:00+00:00"';

describe('a tenant who holds the address of the edge host', {
  skip: skipUnless([...NEEDS, 'sshd']),
}, () => {
  let fixture: StackFixture;
  let sshd: { stop(): void };
  before(async () => {
    const held = Object.values(PREFIXES).map(
      (cidr) => `      - { cidr: "${cidr}", asn: 64500, ${SINCE} }\n`,
    );
    const fleet = defaultFleet()
      .replace(/ {4}services:\n[^]*?(?= {4}keys:)/, '')
      .replace('    prefixes:\n', `    prefixes:\n${held.join('')}`);
    fixture = await startStackFixture('lockout', { fleet });
    sshd = startSshd(fixture.internet.edge, [`0.0.0.0:${SSH_PORT}`, `[::]:${SSH_PORT}`]);
  });
  after(async () => {
    sshd.stop();
    await fixture.stop();
  });

  it('locks nobody out of its sshd: by rules, by a SYN proxy in front of it, by the default of the prefix', async () => {
    const { stack, toHost, internet } = fixture;
    await eventually('sshd is learned', async () => {
      const { report } = await edgeStatus(stack);
      return report?.management.some(({ port }) => port === SSH_PORT) === true;
    });
    for (const family of [4, 6] as const) {
      const address = HOST[family];
      const answers = (): boolean => answersSsh(internet.client, address, SSH_PORT);
      const denied = () => packet(family, 'tcp', { destination: address, destinationPort: 23 });
      assert.ok(answers(), `IPv${family}`);
      assert.equal(await toHost.passes(denied()), true);
      const closed = { target: PREFIXES[family], default: 'deny' };
      const deeds: Readonly<Record<string, () => Promise<unknown>>> = {
        'the default': () => stack.api.call('PUT', '/api/x1/firewall/defaults', closed),
        'a deny of everything': () =>
          stack.api.createRule(address, { action: 'deny', protocol: 'any' }),
        'a deny of its port': () =>
          stack.api.createRule(address, {
            action: 'deny',
            protocol: 'tcp',
            destination_port: String(SSH_PORT),
          }),
        'a SYN proxy': () => stack.api.createFilter(address, 'tcp-syn-proxy', String(SSH_PORT)),
      };
      for (const [what, deed] of Object.entries(deeds)) {
        await deed();
        await eventually('it is enforced', async () => !(await toHost.passes(denied())));
        assert.ok(answers(), `IPv${family}, after ${what}`);
      }
    }
  });
});
