import { join } from 'node:path';
import { attacksBench } from './attacks/attacks.ts';
import { commandBench } from './command/command.ts';
import { controlBench } from './control/control.ts';
import { dataplaneBench } from './dataplane/dataplane.ts';
import { detectionBench } from './detection/detection.ts';
import { edgeBench } from './dataplane/edge.ts';
import { filtersBench } from './dataplane/filters.ts';
import { fleetBench } from './fleet/fleet.ts';
import { floodBench } from './dataplane/flood.ts';
import { flowsBench } from './detection/flows.ts';
import { gameServersBench } from './game-servers/game-servers.ts';
import { neighboursBench } from './control/neighbours.ts';
import { portalBench } from './portal/portal.ts';
import { type Bench, report } from './report.ts';
import { replicasBench } from './control/replicas.ts';
import { scaleBench } from './dataplane/scale.ts';
import { syncBench } from './control/sync.ts';

const BENCHES: readonly Bench[] = [
  attacksBench,
  commandBench,
  controlBench,
  dataplaneBench,
  detectionBench,
  edgeBench,
  filtersBench,
  fleetBench,
  floodBench,
  flowsBench,
  gameServersBench,
  neighboursBench,
  portalBench,
  replicasBench,
  scaleBench,
  syncBench,
];
const root = join(import.meta.dirname, '..', '..');

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) {
  console.error(
    `bench: no bench named ${unknown.join(', ')}; there are: ${BENCHES.map((bench) => bench.name).join(', ')}`,
  );
  process.exit(2);
}
for (const bench of BENCHES) {
  if (wanted.length > 0 && !wanted.includes(bench.name)) continue;
  const missing = bench.missing();
  if (missing !== null) {
    console.log(`${bench.name}: not run: ${missing}`);
    continue;
  }
  console.log(`${bench.name}:`);
  const rows = await bench.run((line) => console.log(`  ${line}`));
  for (const line of report(root, bench.name, rows)) console.log(`  ${line}`);
}
