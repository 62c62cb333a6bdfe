import type { OrganisationInput } from '@portcullis/client/index.ts';

export const FLAGS = ['firewall_api', 'attack_history_api'] as const satisfies NonNullable<
  OrganisationInput['flags']
>;

export function isSlug(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,62}$/.test(text);
}
