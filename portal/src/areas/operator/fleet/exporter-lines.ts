import { listOf } from './list-of.ts';

interface Exporter {
  readonly ip: string;
  readonly sampling_rate: number | null;
  readonly prefixes: readonly string[] | 'all' | null;
}

/** A line for each: `192.0.2.1 1:1000 of 203.0.113.0/24, 198.51.100.0/24`, or `192.0.2.1 of all`. */
export function showExporters(exporters: readonly Exporter[]): string {
  return exporters
    .map(({ ip, sampling_rate: rate, prefixes }) => {
      const sampling = rate === null ? '' : ` 1:${rate}`;
      const believed = typeof prefixes === 'string' ? prefixes : (prefixes ?? []).join(', ');
      return `${ip}${sampling} of ${believed}`;
    })
    .join('\n');
}

/** Reads such lines. What is wrong in them is left to the service to refuse. */
export function parseExporters(typed: string) {
  return typed
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, ip = '', rate, believed = ''] = /^(\S+)(?:\s+1:(\d+))?(?:\s+of\s+(.*))?$/.exec(
        line,
      ) ?? [line, line];
      const prefixes = believed.trim() === 'all' ? ('all' as const) : listOf(believed);
      return {
        ip,
        sampling_rate: rate === undefined ? null : Number(rate),
        ...(believed !== '' && { prefixes }),
      };
    });
}
