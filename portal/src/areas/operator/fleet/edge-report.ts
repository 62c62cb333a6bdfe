/** The parts of an edge's last report that the page shows; a newer edge may report others, an older one fewer. */
export interface EdgeReportView {
  readonly policies: number | null;
  readonly kernel: string | null;
  readonly lastError: string | null;
  readonly problems: readonly string[];
  readonly devices: readonly {
    readonly name: string;
    readonly isPresent: boolean;
    readonly xdp: string;
    readonly reason: string | null;
  }[];
}

export function readEdgeReport(report: Readonly<Record<string, unknown>> | null): EdgeReportView {
  return {
    policies: typeof report?.['policies'] === 'number' ? report['policies'] : null,
    kernel: textOf(report?.['kernel']),
    lastError: textOf(report?.['lastError']),
    problems: listOf(report?.['problems']).flatMap((each) => textOf(each) ?? []),
    devices: listOf(report?.['devices']).flatMap((each) => {
      const device = Object(each) as Readonly<Record<string, unknown>>;
      const name = textOf(device['name']);
      if (name === null) return [];
      return {
        name,
        isPresent: device['present'] === true,
        xdp: textOf(device['xdp']) ?? '',
        reason: textOf(device['reason']),
      };
    }),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
