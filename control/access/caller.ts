import type { Role } from '@portcullis/contract/endpoint.ts';
import type { Ability, Flag, OperatorAbility } from '@portcullis/core/access/abilities.ts';
import type { ServerRight } from '@portcullis/core/access/server-rights.ts';

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
  readonly kind: 'person';
  readonly id: number;
  /** The address that it signs in with. */
  readonly email: string;
  readonly sessionId: number;
  readonly isOperator: boolean;
}

/** The rights of a caller in its organisation. */
interface Rights {
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

/** An API key of an organisation. */
export interface Key extends Rights {
  readonly kind: 'key';
  readonly keyId: number;
  readonly keyName: string;
}

/** A person's rights to single servers, by uuid, beside those of its role. */
export type ServerRights = ReadonlyMap<string, ReadonlySet<ServerRight>>;

/** A signed-in person with a role in the organisation of the request. */
export interface Member extends Rights {
  readonly kind: 'member';
  readonly person: Person;
  readonly role: Role;
  /** An operator that acts for the organisation. */
  readonly isActing: boolean;
  readonly serverRights: ServerRights;
}

/** A signed-in person that has rights to some servers of an organisation without belonging to it. */
export interface Guest extends Rights {
  readonly kind: 'guest';
  readonly person: Person;
  readonly serverRights: ServerRights;
}

/**
 * The caller of an organisation: operations for its keys serve the sessions of its members and guests too. Valid for a
 * second at most, so never kept longer than a request.
 */
export type Caller = Key | Member | Guest;

/** A key of the operator. */
export interface OperatorKey {
  readonly kind: 'operator-key';
  readonly keyId: number;
  readonly keyName: string;
  readonly abilities: ReadonlySet<OperatorAbility>;
}

/** The operator: its key, or a signed-in person that is one. */
export type Operator = OperatorKey | Person;

/** The sender of a request, by its credential. */
export type Identity = Caller | Operator;

/** The holder of a key: an organisation, or the operator. `expiresAt`: null if it does not expire. */
export interface KeyHolder {
  readonly by: Key | OperatorKey;
  readonly expiresAt: Date | null;
}

export interface Session {
  /** A member or guest in the organisation of the request, a person without one. */
  readonly by: Person | Member | Guest;
  readonly expiresAt: Date;
}

export function isCaller(by: Identity | null): by is Caller {
  return by?.kind === 'key' || by?.kind === 'member' || by?.kind === 'guest';
}

/** The signed-in person; null for a key and for nobody. */
export function personOf(by: Identity | null): Person | null {
  if (by?.kind === 'member' || by?.kind === 'guest') return by.person;
  return by?.kind === 'person' ? by : null;
}

/** The id of a key, or the negative id of a person: what holds a right, and what idempotency keys belong to. */
export function holderIdOf(by: Identity): number {
  if (by.kind === 'member' || by.kind === 'guest') return -by.person.id;
  return by.kind === 'person' ? -by.id : by.keyId;
}
