import { join } from 'node:path';
import { attacksBench } from './attacks/attacks.ts';
import { commandBench } from './command/command.ts';
import { controlBench } from './control/control.ts';
import { dataplaneBench } from './dataplane/dataplane.ts';
import { detectionBench } from './detection/detection.ts';
import { edgeBench } from './dataplane/edge.ts';
import { filtersBench } from './dataplane/filters.ts';
import { filesBench } from './files/files.ts';
import { fleetBench } from './fleet/fleet.ts';
import { floodBench } from './dataplane/flood.ts';
import { flowsBench } from './detection/flows.ts';
import { gameServersBench } from './game-servers/game-servers.ts';
import { mitigationBench } from './mitigation/mitigation.ts';
import { neighboursBench } from './control/neighbours.ts';
import { portalBench } from './portal/portal.ts';
import { type Bench, report } from './report.ts';
import { replicasBench } from './control/replicas.ts';
import { scaleBench } from './dataplane/scale.ts';
import { syncBench } from './control/sync.ts';
import { writesBench } from './dataplane/writes.ts';

const BENCHES: readonly Bench[] = [
  attacksBench,
  commandBench,
  controlBench,
  dataplaneBench,
  detectionBench,
  edgeBench,
  filesBench,
  filtersBench,
  fleetBench,
  floodBench,
  flowsBench,
  gameServersBench,
  mitigationBench,
  neighboursBench,
  portalBench,
  replicasBench,
  scaleBench,
  syncBench,
  writesBench,
];
const root = join(import.meta.dirname, '..', '..');

/** `main.ts [NAME...] [--json] [OPTION...]`: options other than `--json` are those of the one bench that is named. */
const words = process.argv.slice(2);
const firstOption = words.findIndex((word) => word.startsWith('-'));
const wanted = firstOption < 0 ? words : words.slice(0, firstOption);
const options = words.slice(wanted.length).filter((word) => word !== '--json');
const isJson = words.includes('--json');
/** Standard output is for the document alone. */
const print = isJson ? console.error : console.log;
const benches = BENCHES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
refuseUnknown();

for (const bench of benches) {
  const missing = bench.missing();
  if (missing !== null) {
    print(`${bench.name}: not run: ${missing}`);
    continue;
  }
  print(`${bench.name}:`);
  const results = await bench.run((line) => print(`  ${line}`), options);
  const { rows, details } = 'rows' in results ? results : { rows: results, details: undefined };
  for (const line of report(root, bench.name, rows, options)) print(`  ${line}`);
  if (isJson) console.log(JSON.stringify({ bench: bench.name, rows, details }));
}

function refuseUnknown(): void {
  const unknown = wanted.filter((name) => !BENCHES.some((bench) => bench.name === name));
  const names = BENCHES.map((bench) => bench.name).join(', ');
  if (unknown.length > 0) refuse(`no bench named ${unknown.join(', ')}; there are: ${names}`);
  const [only] = benches;
  if (options.length > 0 && (benches.length !== 1 || only?.takesOptions !== true))
    refuse(`${options.join(' ')}: name one bench that takes options`);
}

function refuse(reason: string): never {
  console.error(`bench: ${reason}`);
  process.exit(2);
}
