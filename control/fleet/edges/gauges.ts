import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { Registry } from 'prom-client';
import { registerScraped } from '../../scraped-metric.ts';
import type { Enforcement, EnforcementReader } from './enforcement.ts';

interface FleetGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Each current value with its labels. */
  readonly values: (fleet: Enforcement) => Iterable<readonly [Record<string, string>, number]>;
}

/** Metrics from the reports of edges. An edge without a report is absent. */
const REPORT_GAUGES: readonly FleetGauge[] = [
  {
    name: 'edge_device_info',
    help: 'Devices of an edge: 1 for each, with how packets are dropped early on it.',
    labels: ['edge', 'device', 'kind', 'xdp', 'present'],
    values: ({ edges }) =>
      edges.flatMap(({ name: edge, report }) =>
        (report?.devices ?? []).map(({ name: device, kind, xdp, present }) => [
          { edge, device, kind, xdp, present: String(present) },
          1,
        ]),
      ),
  },
  {
    name: 'edge_counters_info',
    help: 'Which part of the kernel counts traffic for the detection of attacks: xdp, nftables or none.',
    labels: ['edge', 'by'],
    values: ({ edges }) =>
      edges.flatMap(({ name: edge, report }) =>
        report === null ? [] : [[{ edge, by: report.counters }, 1] as const],
      ),
  },
  ofReport('edge_policies', 'Targets with a policy of their own.', (one) => one.policies),
  ofReport('edge_elements', 'Entries of every map of the edge.', (one) => one.elements),
  ofReport('edge_filters', 'Filters on ports that are enforced.', (one) => one.filters),
  ofReport(
    'edge_repairs_total',
    'Times since its start that an edge found its kernel changed by others, and repaired it.',
    (one) => one.repairs,
  ),
  ofReport(
    'edge_forgotten_connections_total',
    'Connections since its start that an edge had connection tracking forget, because rules had come to deny them.',
    (one) => one.forgottenConnections,
  ),
  ofReport(
    'edge_kernel_disturbed',
    '1: the kernel has something other than the agent put there. Absent: not known.',
    ({ kernel }) => (kernel === 'unknown' ? null : Number(kernel === 'disturbed')),
  ),
  ofReport(
    'edge_problems',
    'Problems that an edge reports; portcullis edges show lists them.',
    (one) => one.problems.length,
  ),
  ofReport(
    'edge_devices_missing',
    'Devices named for an edge by which no packet can come in, so that nothing is enforced there.',
    ({ devices }) => devices.filter(({ receives }) => !receives).length,
  ),
  ofReport(
    'edge_fast_path',
    '1: UDP flows that servers answer are forwarded without the network stack; portcullis edges show says why not.',
    ({ fastPath }) => (fastPath === null ? null : Number(fastPath.isOn)),
  ),
  ofReport(
    'edge_fast_path_packets_total',
    'Packets since its start that an edge forwarded without the network stack.',
    ({ fastPath }) => fastPath?.packets ?? null,
  ),
  ofReport('edge_last_apply_seconds', 'How long the last change took.', ({ lastApplyMs }) =>
    lastApplyMs === null ? null : lastApplyMs / 1_000,
  ),
];

function ofReport(
  name: string,
  help: string,
  value: (report: EdgeReport) => number | null,
): FleetGauge {
  return {
    name,
    help,
    labels: ['edge'],
    values: ({ edges }) =>
      edges.flatMap(({ name: edge, report }) => {
        const now = report === null ? null : value(report);
        return now === null ? [] : [[{ edge }, now] as const];
      }),
  };
}

const GAUGES: readonly FleetGauge[] = [
  {
    name: 'generation_accepted',
    help: 'The newest accepted generation.',
    labels: [],
    values: ({ generation }) => [[{}, generation]],
  },
  {
    name: 'edges_in_service',
    help: 'Edges that count for live.',
    labels: [],
    values: ({ edges }) => [[{}, edges.filter((edge) => edge.inService).length]],
  },
  {
    name: 'edges_enforcing',
    help: 'Edges that enforce, in service or not.',
    labels: [],
    values: ({ edges }) => [[{}, edges.filter((edge) => edge.enforcing).length]],
  },
  {
    name: 'edge_lag_generations',
    help: 'Accepted minus confirmed.',
    labels: ['edge'],
    values: ({ edges, generation }) =>
      edges
        .filter((edge) => edge.enforcing)
        .map((edge) => [{ edge: edge.name }, generation - edge.generation]),
  },
  {
    name: 'edge_refused_targets',
    help: 'Targets that stay at an older state.',
    labels: ['edge'],
    values: ({ edges }) => edges.map((edge) => [{ edge: edge.name }, edge.refused.length]),
  },
  {
    name: 'edge_on_trial',
    help: '1 while it enforces on a trial that nobody has confirmed.',
    labels: ['edge'],
    values: ({ edges }) =>
      edges.map(({ name, mode, modeReason }) => [
        { edge: name },
        mode === 'enforce' && modeReason !== null ? 1 : 0,
      ]),
  },
  ...REPORT_GAUGES,
];

/** Registers metrics that are read at each scrape and absent while the database is away. */
export function registerFleetGauges(registry: Registry, enforcement: EnforcementReader): void {
  for (const { values, ...gauge } of GAUGES) {
    registerScraped(registry, { ...gauge, read: async () => values(await enforcement.read()) });
  }
}
