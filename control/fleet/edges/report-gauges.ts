import type { EdgeReport } from '@portcullis/link/messages/edge-report.ts';
import type { FleetGauge } from './gauges.ts';

/** What edges say of themselves, as numbers. An edge that has not said anything is absent. */
export const REPORT_GAUGES: readonly FleetGauge[] = [
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
  ofReport('edge_policies', 'Targets judged by a policy of their own.', (one) => one.policies),
  ofReport('edge_elements', 'Entries of every map of the edge.', (one) => one.elements),
  ofReport('edge_filters', 'Filters on ports that are enforced.', (one) => one.filters),
  ofReport(
    'edge_repairs',
    'Times since its start that an edge found its kernel changed by others, and mended it.',
    (one) => one.repairs,
  ),
  ofReport(
    'edge_forgotten_connections',
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
    'Things that stand in the way of something wished for; portcullis edges show says which.',
    (one) => one.problems.length,
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
