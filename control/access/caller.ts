import type { Ability, Flag } from '@portcullis/core/access/abilities.ts';

/** The organisation's limits, as the interface publishes them. */
export interface OrganisationLimits {
  readonly rulesPerIp: number;
  readonly filtersPerIp: number;
  readonly maxPortsPerRequest: number;
  readonly attackHistoryDays: number;
  readonly configuredAddresses: number;
  readonly requestsPerMinute: number;
}

export interface OrganisationView {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly flags: ReadonlySet<Flag>;
  readonly limits: OrganisationLimits;
}

/** Who calls, and what the key lets him do. True for a second at most: never kept longer than a request. */
export interface Caller {
  readonly keyId: number;
  readonly keyName: string;
  readonly organisationId: number;
  readonly organisation: OrganisationView;
  readonly abilities: ReadonlySet<Ability>;
  /** Null: everything that the organisation holds. */
  readonly prefixes: readonly string[] | null;
  /** Uuids; null: every server of the organisation. */
  readonly servers: readonly string[] | null;
  /** Of those, the ones that it may instruct; null: all that it sees. */
  readonly managedServers: readonly string[] | null;
}
