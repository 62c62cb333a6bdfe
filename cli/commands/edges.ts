import { type EdgeStatus, loadEdgeStatuses } from '@portcullis/control/fleet/edges/status.ts';
import { withDatabase } from '../database.ts';
import { failed } from '../exit.ts';
import { agoOf, print, printJson, printTable, styled } from '../output.ts';
import type { EdgesOptions } from '../program/edges.ts';

type EdgeDevice = NonNullable<EdgeStatus['report']>['devices'][number];

/** `portcullis edges list`: one line an edge. */
export async function listEdges(options: EdgesOptions): Promise<void> {
  const edges = await withDatabase(options, (db) => loadEdgeStatuses(db));
  if (options.json === true) {
    printJson({ accepted_generation: acceptedOf(edges), edges: edges.map(edgeView) });
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
    agoOf(edge.lastSeenAt),
  ]);
  const head = ['NAME', 'SITE', 'SERVICE', 'GENERATION', 'LAG', 'REFUSED', 'XDP', 'HEARD'];
  await printTable(head, rows);
  for (const { name, report } of edges) {
    const lastError = report?.lastError ?? null;
    if (lastError !== null) print(styled('red', `${name}: ${lastError}`));
  }
}

/** `portcullis edges show NAME`. */
export async function showEdge(name: string, options: EdgesOptions): Promise<void> {
  const edges = await withDatabase(options, (db) => loadEdgeStatuses(db));
  const edge = edges.find((one) => one.name === name);
  if (edge === undefined) {
    const known = edges.map((one) => one.name).join(', ');
    throw failed(`the fleet has no edge ${name}; it has: ${known || 'none'}`);
  }
  if (options.json === true) printJson(edgeView(edge));
  else await describeEdge(edge);
}

const DETECTION = {
  xdp: 'traffic is counted by XDP',
  nftables: 'traffic is counted by nftables',
  none: 'traffic is not counted, so this edge detects no attacks',
} as const;

async function describeEdge(edge: EdgeStatus): Promise<void> {
  const { report } = edge;
  print(`${styled('bold', edge.name)} at ${edge.site}: ${serviceOf(edge)}`);
  if (edge.modeReason !== null) print(`It only observes: ${edge.modeReason}.`);
  print(
    `generation  ${edge.generation} of ${edge.acceptedGeneration} accepted, lag ${lagOf(edge)}; heard ${agoOf(edge.lastSeenAt)}`,
  );
  print(`serves      ${edge.serves.join(', ')} (sees ${edge.sees}, fragments: ${edge.fragments})`);
  if (report === null) {
    print('It has not reported anything yet.');
  } else {
    const took = report.lastApplyMs === null ? '' : `; last change took ${ms(report.lastApplyMs)}`;
    print(
      `kernel      ${report.kernel}, ${report.policies} policies, ${report.elements} elements, ${report.filters} filters, ${report.repairs} repairs, ${report.forgottenConnections} connections forgotten${took}`,
    );
    print(`detection   ${DETECTION[report.counters]}`);
    if (report.lastError !== null) print(styled('red', `last error  ${report.lastError}`));
    for (const problem of report.problems) print(styled('yellow', `problem     ${problem}`));
    await describeDevices(report.devices);
  }
  await describeRefused(edge);
}

async function describeDevices(devices: readonly EdgeDevice[]): Promise<void> {
  if (devices.length === 0) return;
  print();
  await printTable(
    ['DEVICE', 'KIND', 'THERE', 'XDP', 'MASTER', 'WHY'],
    devices.map(({ name, kind, present, xdp, master, reason }) => [
      name,
      kind,
      present ? 'yes' : 'no',
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
    ['REFUSED', 'STILL AT', 'WHY'],
    refused.map(({ target, goodGeneration, reason }) => [
      target,
      goodGeneration === 0 ? 'nothing' : String(goodGeneration),
      reason,
    ]),
  );
}

function serviceOf(edge: EdgeStatus): string {
  if (edge.mode === null) return 'never heard of';
  if (edge.inService) return 'in service';
  return edge.mode === 'observe' ? 'observes' : 'out of service';
}

function lagOf(edge: EdgeStatus): string {
  const behind = edge.acceptedGeneration - edge.generation;
  if (edge.mode === null || behind <= 0) return behind <= 0 ? '0' : '-';
  return `${behind} (${ms(edge.lagMs)})`;
}

function xdpOf(devices: readonly EdgeDevice[]): string {
  if (devices.length === 0) return '-';
  return devices.map(({ name, xdp, present }) => `${name}:${present ? xdp : 'absent'}`).join(' ');
}

function ms(length: number): string {
  return length < 10_000 ? `${Math.round(length)} ms` : `${Math.round(length / 1_000)} s`;
}

function acceptedOf(edges: readonly EdgeStatus[]): number | null {
  return edges[0]?.acceptedGeneration ?? null;
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
      devices: report.devices,
    },
  };
}
