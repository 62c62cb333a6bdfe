import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFakeKernel } from '@portcullis/dataplane/nftables/fake.ts';
import { createEdgeAgent } from '@portcullis/edge/agent/agent.ts';
import { connectControl } from '@portcullis/link/transport/connect.ts';

export interface SimulatedEdge {
  readonly name: string;
  readonly credential: string;
}

/** A process of many edges: real agents, each with a fake kernel, until it is killed. */
const [file = '', folder = ''] = process.argv.slice(2);
const edges = JSON.parse(readFileSync(file, 'utf8')) as readonly SimulatedEdge[];
const host = {
  localAddresses: () => [],
  devices: () => ['ext0'],
  isUp: () => true,
  masterOf: () => null,
};
await Promise.all(edges.map(start));

async function start({ name, credential }: SimulatedEdge): Promise<void> {
  const stateDir = join(folder, name);
  mkdirSync(stateDir, { recursive: true });
  const link = await connectControl({ path: '', agent: { kind: 'edge', name }, credential });
  const report = (what: unknown, why: string): void => console.error(name, why, what);
  const agent = createEdgeAgent({
    link,
    driver: createFakeKernel({ recordsTexts: false }),
    host,
    stateDir,
    log: { debug() {}, info() {}, warn() {}, error: report },
    mode: 'enforce',
  });
  await agent.start();
}
