import type { Scope } from './parse-scope.ts';
import { isAddress } from './parse-scope.ts';
import type { FleetText } from './schema.ts';

/**
 * Sections whose areas are not built yet: checked as the others are, so that a file is right before they
 * come, and named in the plan, so that nobody believes that they do something.
 */
export function parseUnused(text: FleetText, scope: Scope): string[] {
  checkCollectors(text.collectors ?? [], scope.in('collectors'));
  const unused: string[] = [];
  const say = (count: number, what: string, area: string): void => {
    if (count > 0) unused.push(`${what} (${count}): not used until ${area} built`);
  };
  say(countThresholds(text), 'thresholds', 'attack history is');
  say(text.collectors?.length ?? 0, 'collectors', 'attack history is');
  return unused;
}

function countThresholds(text: FleetText): number {
  let count = 0;
  for (const organisation of Object.values(text.organisations ?? {})) {
    const services = organisation.services ?? [];
    const places = [
      organisation,
      ...(organisation.prefixes ?? []),
      ...services,
      ...services.flatMap((service) => service.addresses ?? []),
    ];
    count += places.filter(({ thresholds }) => thresholds !== undefined).length;
  }
  return count;
}

function checkCollectors(entries: NonNullable<FleetText['collectors']>, scope: Scope): void {
  scope.unique(entries, ({ name }) => name, 'name', 'The collector');
  for (const [index, { listen, exporters }] of entries.entries()) {
    const place = scope.in(index);
    const form = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([1-9][0-9]{0,4})$/.exec(listen);
    const host = form?.[1] ?? form?.[2] ?? '';
    if (!isAddress(host) || Number(form?.[3]) > 65_535) {
      place.in('listen').refuse('This is no ADDRESS:PORT, such as 0.0.0.0:6343 or [::]:6343.');
    }
    const list = exporters ?? [];
    for (const [at, { ip }] of list.entries()) place.in('exporters', at, 'ip').address(ip);
    place.in('exporters').unique(list, ({ ip }) => ip, 'ip', 'The exporter');
  }
}
