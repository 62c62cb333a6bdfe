import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { deleteElement, mapShapeOf } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { numberOf } from '@portcullis/dataplane/nftables/table/verdict-numbers.ts';
import { keysOf, withMapsOf } from '../../kernel/bpf-maps.ts';
import { CLIENT, SERVER } from '../../stack/internet.ts';
import { missing } from '../../requirements.ts';
import { waitsFor } from '../../kernel/waiting.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';

const DENIED = 5353;
const ROUNDS = 5;
const ACCEPT = numberOf('accept');

const lacking = whyNot() || missing(['bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let fixture: StackFixture;

describe('explain, while another process changes the kernel of an edge', {
  skip: lacking ?? false,
}, () => {
  before(async () => {
    fixture = await startStackFixture('explain');
    await fixture.stack.api.createRule(SERVER[4], {
      action: 'deny',
      protocol: 'udp',
      destination_port: String(DENIED),
    });
    // Control waits 1.5 seconds for an edge, which a busy machine may need.
    await eventually('the edge agrees', async () => (await explained()).length === 0);
  });
  after(() => fixture.stop());

  const element = `${SERVER[4]} . udp . ${DENIED}`;
  const DEEDS: Readonly<Record<string, () => void>> = {
    'an element of our table is deleted': () =>
      nft(`delete element inet portcullis port4 { ${element} }`),
    'an element of our table says something else': () =>
      nft(
        `delete element inet portcullis port4 { ${element} }; add element inet portcullis port4 { ${element} : ${ACCEPT} }`,
      ),
    'our table is deleted': () => nft('delete table inet portcullis'),
    'an element of a map of the early drop is deleted': () => assert.ok(deleteEarlyElements() > 0),
  };
  for (const [deed, act] of Object.entries(DEEDS)) {
    it(`${deed}: says that kernel and policy differ, until it is repaired`, async () => {
      assert.match(await explainAfter(act), /The kernel of lab was changed by another program/);
      await eventually('it is repaired', async () => (await explained()).length === 0);
      const denied = packet(4, 'udp', { destinationPort: DENIED });
      assert.equal(await fixture.through.passes(denied), false);
      assert.equal(deleteEarlyElements({ really: false }) > 0, true, 'it is in the maps again');
    });
  }
});

/** Differences between edges and the accepted policy, as `portcullis explain` reports them. */
async function explained(): Promise<string[]> {
  const path = `/api/x1/firewall/ips/${SERVER[4]}/explain`;
  const { body } = await fixture.stack.api.call<{
    readonly data: { readonly verdict: string; readonly differences: string[] };
  }>('POST', path, { protocol: 'udp', source_ip: CLIENT[4], destination_port: DENIED });
  assert.equal(body.data.verdict, 'drop');
  return body.data.differences;
}

/**
 * The answer to a request made before the edge could begin the repair: its agent finds the change and the request
 * together.
 */
async function explainAfter(act: () => void): Promise<string> {
  const agent = fixture.stack.pidOf('edge/main.ts');
  for (let round = 1; ; round++) {
    process.kill(agent, 'SIGSTOP');
    let asked: Promise<string[]>;
    try {
      act();
      asked = explained();
      await eventually('the call waits', async () => waitsFor(agent, '"edge.explain"'));
    } finally {
      process.kill(agent, 'SIGCONT');
    }
    const said = (await asked).join();
    // Control waits 1.5 seconds, which a loaded machine may need for all this.
    if (round === ROUNDS || !said.includes('did not answer')) return said;
    await eventually('it is repaired', async () => (await explained()).length === 0);
  }
}

function nft(command: string): void {
  fixture.internet.edge.run('nft', command);
}

/** Removes the elements of the server's address from every map; returns their number. */
function deleteEarlyElements({ really = true } = {}): number {
  const address = Buffer.from(SERVER[4].split('.').map(Number));
  return withMapsOf(fixture.stack.pidOf('edge/main.ts'), (maps) => {
    const elements = maps
      .filter((map) => mapShapeOf(map).type === 'hash')
      .flatMap((map) => keysOf(map).map((key) => ({ map, key })))
      .filter(({ key }) => key.subarray(0, 4).equals(address));
    if (really) for (const { map, key } of elements) deleteElement(map, key);
    return elements.length;
  });
}
