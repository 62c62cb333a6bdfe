import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CLIENT, CONTAINER, HOST, SERVER } from '../internet.ts';
import { require } from '../requirements.ts';
import { startServices } from '../services.ts';
import { FilterGround, filtered } from './filter-ground.ts';
import { eventually, reaches } from './ground.ts';

function groundFor(t: TestContext, label: string, change = {}): FilterGround | null {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return null;
  const ground = new FilterGround(label, change);
  t.after(() => ground.destroy());
  const services = startServices(ground.internet);
  t.after(() => services.stop());
  return ground;
}

describe('tcp-syn-proxy', () => {
  it('stands in front of a server behind the edge, on the edge host, and behind DNAT', async (t) => {
    const ground = groundFor(t, 'syn');
    if (ground === null) return;
    const { client, edge } = ground.internet;
    edge.spawn(['python3', '-m', 'http.server', '8000', '--bind', '::'], { stdio: 'ignore' });
    const ports = [
      [SERVER[4], 80],
      [SERVER[6], 80],
      [HOST[4], 8000],
      [HOST[6], 8000],
      [HOST[4], CONTAINER.publishedPort],
    ] as const;
    const url = (address: string, port: number): string =>
      `http://${address.includes(':') ? `[${address}]` : address}:${port}/`;
    for (const [address, port] of ports) {
      await eventually(`${address} serves`, async () => reaches(client, url(address, port)));
    }
    const byAddress = Map.groupBy(ports, ([address]) => address);
    await ground.apply(
      [...byAddress].map(([address, of]) =>
        filtered(address, ...of.map(([, port]) => ['tcp-syn-proxy', port] as const)),
      ),
    );
    for (const [address, port] of ports) {
      assert.equal(reaches(client, url(address, port)), true, `${address} ${port}`);
    }
    for (const f of ['filtered4', 'filtered6']) console.log(ground.elements(f));
    console.log(edge.run('cat', '/proc/net/stat/synproxy'));
    ground.noise('syn', SERVER[4], 80, 20000);
    console.log(edge.run('cat', '/proc/net/stat/synproxy'), CLIENT);
  });
});
