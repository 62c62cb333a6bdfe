import type { EdgeStatus } from '@portcullis/control/fleet/edges/status.ts';
import type { Command } from 'commander';
import { addEnrolment } from '../agents/enrolment.ts';
import { withDatabase } from '../database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import { formatAgo, print, printJson, printTable, styled } from '@portcullis/caller/output.ts';

export function addEdges(program: Command): void {
  const edges = program
    .command('edges')
    .description('the edges of the fleet: their generations, state and problems')
    .addHelpText(
      'after',
      `
  portcullis edges list              one line per edge
  portcullis edges show fra1         its devices, refused addresses, counts and problems
  portcullis edges enrol fra1        a new credential, shown only once; the previous one stops working
  portcullis edges enrol fra1 --save    for an edge on this host: saved where "portcullis edge" reads it
  portcullis edges enrol fra1 --remote --save fra1.json    for another host, by NATS: portcullis edge --credential-file fra1.json
  portcullis edges revoke fra1       its credential stops working at once
  portcullis edges list --json | jq '.data[] | select(.lag_generations > 0).name'

show exits with 1 if there is no such edge.`,
    );
  withDatabaseOptions(edges.command('list').description('every edge, one line each')).action(
    listEdges,
  );
  withDatabaseOptions(
    edges.command('show').description('all about one edge').argument('<name>', 'as in the fleet'),
  ).action(showEdge);
  addEnrolment(edges, 'edge');
}

type EdgeDevice = NonNullable<EdgeStatus['report']>['devices'][number];

async function listEdges(options: DatabaseOptions): Promise<void> {
  const edges = await loadEdges(options);
  if (options.json === true) {
    const meta = {
      accepted_generation: edges[0]?.acceptedGeneration ?? null,
      enforcement: (await describe(edges)).state,
    };
    printJson(edges.map(edgeView), { meta });
    return;
  }
  if (edges.length === 0) {
    print('No edges: name them in the fleet file.');
    return;
  }
  const rows = edges.map((edge) => [
    edge.name,
    edge.site,
    serviceOf(edge),
    String(edge.generation),
    lagOf(edge),
    String(edge.refused.length),
    xdpOf(edge.report?.devices ?? []),
    formatAgo(edge.lastSeenAt),
  ]);
  const head = ['NAME', 'SITE', 'SERVICE', 'GENERATION', 'LAG', 'REFUSED', 'EARLY', 'LAST SEEN'];
  await printTable(head, rows);
  const { state, detail } = await describe(edges);
  // Without it, generations and lags could be read as enforcement.
  if (state === 'none') print(styled('yellow', detail));
  for (const { name, mode, modeReason, report } of edges) {
    if (modeReason !== null)
      print(
        styled('yellow', `${name} ${mode === null ? '' : REASON_OF_MODE[mode]} ${modeReason}.`),
      );
    const lastError = report?.lastError ?? null;
    if (lastError !== null) print(styled('red', `${name}: ${lastError}`));
  }
}

async function loadEdges(options: DatabaseOptions): Promise<readonly EdgeStatus[]> {
  const { loadEdgeStatuses } = await import('@portcullis/control/fleet/edges/status.ts');
  return withDatabase(options, (db) => loadEdgeStatuses(db));
}

async function describe(edges: readonly EdgeStatus[]) {
  const { describeEnforcement } = await import('@portcullis/control/fleet/edges/enforcement.ts');
  return describeEnforcement(edges);
}

async function showEdge(name: string, options: DatabaseOptions): Promise<void> {
  const edges = await loadEdges(options);
  const edge = edges.find((each) => each.name === name);
  if (edge === undefined) {
    const known = edges.map((each) => each.name).join(', ');
    throw failed(`the fleet has no edge ${name}; it has: ${known || 'none'}`);
  }
  if (options.json === true) printJson(edgeView(edge));
  else await describeEdge(edge);
}

/** Begins the sentence that ends in the reason. */
const REASON_OF_MODE = {
  enforce: 'is',
  observe: 'only observes:',
  no_device: 'enforces nothing:',
} as const;

const DETECTION = {
  xdp: 'traffic is counted by the early drop',
  nftables: 'traffic is counted by nftables',
  none: 'traffic is not counted, so this edge detects no attacks',
} as const;

async function describeEdge(edge: EdgeStatus): Promise<void> {
  const { report } = edge;
  print(`${styled('bold', edge.name)} at ${edge.site}: ${serviceOf(edge)}`);
  if (edge.modeReason !== null)
    print(
      styled(
        'yellow',
        `The edge ${edge.mode === null ? '' : REASON_OF_MODE[edge.mode]} ${edge.modeReason}.`,
      ),
    );
  print(
    `generation  ${edge.generation} of ${edge.acceptedGeneration} accepted, lag ${lagOf(edge)}; seen ${formatAgo(edge.lastSeenAt)}`,
  );
  print(`serves      ${edge.serves.join(', ')} (sees ${edge.sees}, fragments: ${edge.fragments})`);
  if (report === null) {
    print('The edge has not reported yet.');
  } else {
    const took =
      report.lastApplyMs === null ? '' : `; last change took ${formatMs(report.lastApplyMs)}`;
    print(
      `kernel      ${report.kernel}, ${report.policies} policies, ${report.elements} elements, ${report.filters} filters, ${report.repairs} repairs, ${report.forgottenConnections} connections forgotten${took}`,
    );
    print(
      `management  ${report.management.map(({ protocol, port }) => `${protocol} ${port}`).join(', ') || 'none'}`,
    );
    print(`detection   ${DETECTION[report.counters]}`);
    if (report.fastPath !== null) print(`fast path   ${describeFastPath(report.fastPath)}`);
    if (report.lastError !== null) print(styled('red', `last error  ${report.lastError}`));
    for (const problem of report.problems) print(styled('yellow', `problem     ${problem}`));
    await describeDevices(report.devices);
  }
  await describeRefused(edge);
}

type FastPath = NonNullable<NonNullable<EdgeStatus['report']>['fastPath']>;

function describeFastPath({ isOn, reason, packets }: FastPath): string {
  if (!isOn) return `off: ${reason ?? 'nothing is loaded yet'}`;
  return `on: ${packets} packets of answered flows were forwarded without the network stack`;
}

async function describeDevices(devices: readonly EdgeDevice[]): Promise<void> {
  if (devices.length === 0) return;
  print();
  await printTable(
    ['DEVICE', 'KIND', 'PRESENT', 'EARLY', 'MASTER', 'REASON'],
    devices.map(({ name, kind, present, receives, xdp, master, reason }) => [
      name,
      kind,
      present ? (receives ? 'yes' : 'unused') : 'no',
      xdp,
      master ?? '-',
      reason ?? '',
    ]),
  );
}

async function describeRefused({ refused }: EdgeStatus): Promise<void> {
  if (refused.length === 0) return;
  print();
  await printTable(
    ['REFUSED', 'ENFORCES', 'REASON'],
    refused.map(({ target, goodGeneration, reason }) => [
      target,
      goodGeneration === 0 ? 'nothing' : String(goodGeneration),
      reason,
    ]),
  );
}

function serviceOf(edge: EdgeStatus): string {
  if (edge.mode === null) return 'never seen';
  if (edge.inService) return 'in service';
  return { observe: 'observes', no_device: 'no device', enforce: 'out of service' }[edge.mode];
}

function lagOf(edge: EdgeStatus): string {
  const lag = edge.acceptedGeneration - edge.generation;
  // Nothing of it is in a kernel that drops, so it has no lag.
  if (edge.mode !== 'enforce') return '-';
  if (lag <= 0) return '0';
  return `${lag} (${formatMs(edge.lagMs)})`;
}

function xdpOf(devices: readonly EdgeDevice[]): string {
  if (devices.length === 0) return '-';
  return devices.map(({ name, xdp, present }) => `${name}:${present ? xdp : 'absent'}`).join(' ');
}

function formatMs(length: number): string {
  return length < 10_000 ? `${Math.round(length)} ms` : `${Math.round(length / 1_000)} s`;
}

function edgeView(edge: EdgeStatus): object {
  const { report } = edge;
  return {
    name: edge.name,
    site: edge.site,
    serves: edge.serves,
    sees: edge.sees,
    fragments: edge.fragments,
    mode: edge.mode,
    mode_reason: edge.modeReason,
    enrolled: edge.enrolled,
    in_service: edge.inService,
    left_service_at: edge.leftServiceAt?.toISOString() ?? null,
    last_seen_at: edge.lastSeenAt?.toISOString() ?? null,
    generation: edge.generation,
    accepted_generation: edge.acceptedGeneration,
    lag_generations: Math.max(0, edge.acceptedGeneration - edge.generation),
    lag_ms: Math.round(edge.lagMs),
    refused: edge.refused.map(({ target, reason, goodGeneration }) => ({
      target,
      reason,
      good_generation: goodGeneration,
    })),
    report: report && {
      policies: report.policies,
      elements: report.elements,
      filters: report.filters,
      repairs: report.repairs,
      forgotten_connections: report.forgottenConnections,
      kernel: report.kernel,
      last_error: report.lastError,
      last_apply_ms: report.lastApplyMs,
      problems: report.problems,
      counters: report.counters,
      fast_path: report.fastPath,
      devices: report.devices,
      management: report.management,
    },
  };
}
