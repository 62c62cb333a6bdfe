import type { OrganisationInput } from '@portcullis/client/index.ts';

/** The page sends all of an organisation. */
type WholeOrganisation = Required<OrganisationInput>;

/** Limits as the fleet file's defaults (control/fleet-file/schema). */
export const DEFAULT_LIMITS = {
  flags: ['firewall_api', 'attack_history_api'],
  limits: {
    rules_per_ip: 100,
    filters_per_ip: 25,
    max_ports_per_request: 101,
    attack_history_days: 90,
    configured_addresses: 10_000,
    requests_per_minute: 600,
  },
} as const satisfies Omit<WholeOrganisation, 'name' | 'external_id'>;

export type Flag = WholeOrganisation['flags'][number];
export const FLAGS = DEFAULT_LIMITS.flags satisfies readonly Flag[];

export type LimitName = keyof WholeOrganisation['limits'];
const LARGEST = 2_147_483_647;
/** With what the service accepts. */
export const LIMITS: readonly (readonly [LimitName, number, number])[] = [
  ['rules_per_ip', 0, 100_000],
  ['filters_per_ip', 0, 100_000],
  ['max_ports_per_request', 1, 65_535],
  ['attack_history_days', 1, 36_500],
  ['configured_addresses', 0, LARGEST],
  ['requests_per_minute', 1, LARGEST],
];

export function isSlug(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}
