import type { Role } from '@portcullis/contract/endpoint.ts';
import type { Ability, Flag, OperatorAbility } from '@portcullis/core/access/abilities.ts';

/** The organisation's limits, as published by the interface. */
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

/** A signed-in person. */
export interface Person {
  readonly id: number;
  /** The address that it signs in with. */
  readonly email: string;
  readonly sessionId: number;
  readonly isOperator: boolean;
  /** An operator that acts for the organisation of the request. */
  readonly isActing: boolean;
  /** Its role in the organisation of the request; null without one. */
  readonly role: Role | null;
}

/** The caller and the rights of its key. Valid for a second at most, so never kept longer than a request. */
export interface Caller {
  /** For a session the negative id of its person. */
  readonly keyId: number;
  readonly keyName: string;
  /** Absent for a key. */
  readonly person?: Person;
  readonly organisationId: number;
  readonly organisation: OrganisationView;
  readonly abilities: ReadonlySet<Ability>;
  /** Null: all holdings of the organisation. */
  readonly prefixes: readonly string[] | null;
  /** Uuids; null: every server of the organisation. */
  readonly servers: readonly string[] | null;
  /** The servers that it may instruct. Null: all that it sees. */
  readonly managedServers: readonly string[] | null;
}

/** A key of the operator. */
export interface OperatorKey {
  readonly keyId: number;
  readonly keyName: string;
  readonly abilities: ReadonlySet<OperatorAbility>;
}

/** Whose key it is: an organisation's, or the operator's. `expiresAt`: null if it does not expire. */
export type KeyHolder = { readonly expiresAt: Date | null } & (
  | { readonly caller: Caller; readonly operatorKey: null }
  | { readonly caller: null; readonly operatorKey: OperatorKey }
);

export interface Session {
  readonly person: Person;
  /** Null without an organisation. */
  readonly caller: Caller | null;
  readonly expiresAt: Date;
}
