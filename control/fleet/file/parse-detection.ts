import type { ScopeSettings } from '@portcullis/core/attacks/scope-settings.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { DesiredCollector } from './desired.ts';
import { isAddress, type Scope } from './parse-scope.ts';
import type { DetectionText, FleetText } from './schema.ts';

/** Thresholds, mitigation and safelist of one scope, as far as it says them itself. */
export function parseDetection(text: DetectionText, scope: Scope): ScopeSettings {
  const { thresholds, mitigation, safelist } = text;
  return {
    pps: thresholds?.pps ?? null,
    mbps: thresholds?.mbps ?? null,
    holdSeconds: thresholds?.hold_seconds ?? null,
    mitigation: mitigation ?? null,
    safelist: scope
      .in('safelist')
      .cidrs(safelist ?? [])
      .map(shortest)
      .toSorted(),
  };
}

/** A single address without its length, as policies write it. */
function shortest(cidr: string): string {
  const parsed = parseCidr(cidr);
  return parsed.ok ? formatNetwork(parsed.value) : cidr;
}

const LISTEN = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})$/;

export function parseCollectors(
  entries: NonNullable<FleetText['collectors']>,
  scope: Scope,
): DesiredCollector[] {
  scope.unique(entries, ({ name }) => name, 'name', 'The collector');
  scope.unique(entries, ({ listen }) => listen, 'listen', 'A collector at');
  return entries.map(({ name, listen, exporters, site }, index) => {
    const place = scope.in(index);
    const [, six, four, port] = LISTEN.exec(listen) ?? [];
    if (!isAddress(six ?? four ?? '') || Number(port) > 65_535) {
      place.in('listen').refuse('This is no ADDRESS:PORT, such as 0.0.0.0:6343 or [::]:6343.');
    }
    const list = exporters.map(({ ip, sampling_rate }, at) => ({
      ip: place.in('exporters', at, 'ip').host(ip) ?? ip,
      samplingRate: sampling_rate ?? null,
    }));
    place.in('exporters').unique(list, ({ ip }) => ip, 'ip', 'The exporter');
    return { at: place.at, name, listen, exporters: list, site: site ?? null };
  });
}
