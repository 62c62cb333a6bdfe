import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, SERVER } from '../../stack/internet.ts';
import { skipUnless } from '../../requirements.ts';
import { Path } from '../../wire/path.ts';
import type { ProbePacket } from '../../wire/probe.ts';
import { startStackFixture, eventually, type StackFixture, NEEDS } from '../stack-fixture.ts';

const SERVICE = 27_015;
const ROUNDS = 3;

/** Covers one protocol and one kind of deny; lab/soak/established.test.ts covers all. */
describe('flows that exist when a rule denies them', {
  skip: skipUnless([...NEEDS, 'conntrack']),
}, () => {
  let fixture: StackFixture;
  let back: Path;
  before(async () => {
    fixture = await startStackFixture('established');
    back = new Path(fixture.server, fixture.client, { 4: CLIENT[4], 6: CLIENT[6] });
  });
  after(() => fixture?.stop());

  for (const family of [4, 6] as const) {
    it(`IPv${family}: stop, also while the server keeps sending and after the table is written again`, async () => {
      const { through, stack, internet } = fixture;
      const ends = {
        protocol: 'udp',
        source: CLIENT[family],
        destination: SERVER[family],
      } as const;
      const inbound: ProbePacket = { ...ends, sourcePort: 41_000, destinationPort: SERVICE };
      const answer: ProbePacket = {
        protocol: 'udp',
        source: SERVER[family],
        destination: CLIENT[family],
        sourcePort: SERVICE,
        destinationPort: 41_000,
      };
      assert.equal(await through.passes(inbound), true);
      assert.equal(await back.passes(answer), true);
      const ids = await stack.api.createRule(SERVER[family], {
        action: 'deny',
        protocol: 'udp',
        destination_port: String(SERVICE),
      });
      await eventually('the flow is denied', async () => !(await through.passes(inbound)));
      await eventually('its entry is removed', async () => !isTracked(inbound));
      const staysDenied = async (): Promise<void> => {
        for (let round = 0; round < ROUNDS; round++) {
          assert.equal(await back.passes(answer), true);
          assert.equal(await through.passes(inbound), false, `round ${round}`);
        }
      };
      await staysDenied();
      internet.edge.run('nft', 'delete table inet portcullis');
      await eventually('the table is restored', async () => hasTable());
      await staysDenied();
      await stack.api.deleteRules(SERVER[family], ids);
      await eventually('the flow is allowed again', () => through.passes(inbound));
    });
  }

  function hasTable(): boolean {
    return fixture.internet.edge.run('nft', 'list', 'chains', 'inet').includes('chain replies');
  }

  /** Whether connection tracking has an entry that the client started. */
  function isTracked({ source, destination }: ProbePacket): boolean {
    const family = source.includes(':') ? 'ipv6' : 'ipv4';
    const listed = fixture.internet.edge.run('conntrack', '-L', '-f', family, '-p', 'udp');
    return listed
      .split('\n')
      .some(
        (line) =>
          line.includes(`src=${source} dst=${destination} sport=41000`) &&
          line.indexOf(`src=${source}`) < line.indexOf(`src=${destination}`),
      );
  }
});
