import { countOf } from '../count.ts';
/** The limits of an organisation per address. */
export interface Limits {
  readonly rulesPerIp: number;
  readonly filtersPerIp: number;
  readonly maxPortsPerRequest: number;
}

/** Each check returns null, or a sentence with the limit, its value and the requested number. */
export function checkPortsPerRequest(limits: Limits, requested: number): string | null {
  if (requested <= limits.maxPortsPerRequest) return null;
  return `The port expression holds ${requested} ports, and a request may hold ${limits.maxPortsPerRequest} (max_ports_per_request). Split it into several requests.`;
}

export function checkRulesPerIp(limits: Limits, present: number, added: number): string | null {
  if (present + added <= limits.rulesPerIp) return null;
  return `The address has ${countOf(present, 'rule')}, and ${added} more would exceed the limit of ${limits.rulesPerIp} (rules_per_ip). Delete some first; rules of firewall groups count too.`;
}

export function checkFiltersPerIp(limits: Limits, present: number, added: number): string | null {
  if (present + added <= limits.filtersPerIp) return null;
  return `The address has ${countOf(present, 'filter')}, and ${added} more would exceed the limit of ${limits.filtersPerIp} (filters_per_ip). Delete some first; filters of firewall groups count too.`;
}
