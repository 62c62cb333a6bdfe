import type { FilterType } from '@portcullis/core/filters/catalogue.ts';
import {
  type FilterSettings,
  MAX_SOURCE_PORTS_TEXT,
  SETTING_RANGES,
} from '@portcullis/core/filters/settings.ts';
import type {
  Mitigation,
  MitigationLimit,
  Policy,
  PolicyFilter,
  PolicyGeoRule,
  PolicyRule,
  SourceSets,
} from '@portcullis/core/firewall/policy.ts';
import { formatCidr, formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import {
  anyObject,
  array,
  boolean,
  integer,
  matching,
  mismatch,
  nullable,
  object,
  oneOf,
  optional,
  parsedBy,
  record,
  type Schema,
} from './schema.ts';
import { network, port, protocol, ref, version } from './values.ts';

/**
 * Policies become nft text, so these schemas accept only canonical networks and plain names.
 */
const MAX_POLICIES_PER_PAGE = 100_000;
const MAX_OBJECTS_PER_POLICY = 200_000;
/** The kernel stores the rate of a limit in nanoseconds per packet. */
const MAX_LIMIT_PPS = 100_000_000;
const MAX_NETWORKS_PER_SET = 2_000_000;
const SET_NAME = /^(?:country|asn|list|blocked):[A-Za-z0-9._-]{1,64}$/;

/** Source sets may write single addresses with or without their length. */
const setMember = parsedBy((text) => {
  const parsed = parseCidr(text);
  return parsed.ok && (formatNetwork(parsed.value) === text || formatCidr(parsed.value) === text);
}, 'a canonical address or network');

/** Any slug: control may be a version ahead, and an edge skips filters that it does not know. */
export const filterType = matching(
  /^[a-z0-9][a-z0-9-]{0,63}$/,
  'a filter type',
) as Schema<FilterType>;

const rule = object<PolicyRule>({
  ref,
  action: oneOf('allow', 'deny'),
  protocol,
  port: nullable(port),
  source: nullable(network),
});

const geoRule = object<PolicyGeoRule>({
  ref,
  action: oneOf('deny', 'only'),
  sets: array(matching(SET_NAME, 'the name of a source set'), 100_000),
});

const { sourcePps, newPerSecond, minLength, maxLength } = SETTING_RANGES;

const filterSettings = object<FilterSettings>({
  sourcePps: optional(integer(...sourcePps)),
  newPerSecond: optional(integer(...newPerSecond)),
  minLength: optional(integer(...minLength)),
  maxLength: optional(integer(...maxLength)),
  sourcePorts: optional(
    parsedBy((text) => parsePortExpression(text).ok, 'a port expression', MAX_SOURCE_PORTS_TEXT),
  ),
});

const filter = object<PolicyFilter>({
  ref,
  type: filterType,
  port,
  managed: boolean,
  safelist: array(network, MAX_OBJECTS_PER_POLICY),
  settings: optional(filterSettings),
});

const presentLimit = object<MitigationLimit>({
  per: oneOf('destination', 'source', 'attack'),
  pps: integer(0, MAX_LIMIT_PPS),
  unansweredOnly: boolean,
  answeredPps: optional(integer(1, MAX_LIMIT_PPS)),
});

/** The name of `unansweredOnly` in version 0.1, which agents of it send, read and keep on their disks. */
const PREVIOUS_NAME = 'strangersOnly';

/** A limit by either name. */
export const mitigationLimit: Schema<MitigationLimit> = (value, at) => {
  const { [PREVIOUS_NAME]: previous, ...limit } = anyObject(value, at);
  return presentLimit({ unansweredOnly: previous, ...limit }, at);
};

/** A policy as control sends it: its limits have the previous name too, for agents one version behind. */
export function withPreviousNames(policy: Policy): Policy {
  if (policy.mitigations.every(({ limit }) => limit === null)) return policy;
  const mitigations = policy.mitigations.map(({ limit, ...one }) => ({
    ...one,
    limit: limit && { ...limit, [PREVIOUS_NAME]: limit.unansweredOnly },
  }));
  return { ...policy, mitigations };
}

const anyMitigation = object<Mitigation>({
  ref,
  mode: oneOf('enforce', 'observe'),
  protocol,
  sourcePort: nullable(port),
  destinationPort: nullable(port),
  source: nullable(network),
  safelist: array(network, MAX_OBJECTS_PER_POLICY),
  fragment: oneOf('any', 'later'),
  limit: nullable(mitigationLimit),
});

/** Only TCP and UDP have ports, and later fragments of a datagram have none. */
const mitigation: Schema<Mitigation> = (value, at) => {
  const parsed = anyMitigation(value, at);
  const namesPort = parsed.sourcePort !== null || parsed.destinationPort !== null;
  const hasPorts = parsed.protocol === 'tcp' || parsed.protocol === 'udp';
  if (namesPort && (!hasPorts || parsed.fragment === 'later')) {
    return mismatch(at, 'a mitigation: it names a port where packets have none');
  }
  return parsed;
};

const policy = object<Policy>({
  target: network,
  mitigations: array(mitigation, MAX_OBJECTS_PER_POLICY),
  baseline: array(rule, MAX_OBJECTS_PER_POLICY),
  blocked: array(matching(SET_NAME, 'the name of a source set'), 100_000),
  geo: array(geoRule, MAX_OBJECTS_PER_POLICY),
  rules: array(rule, MAX_OBJECTS_PER_POLICY),
  default: oneOf('accept', 'deny'),
  filters: array(filter, MAX_OBJECTS_PER_POLICY),
});

export const policies = array(policy, MAX_POLICIES_PER_PAGE);
export const targets = array(network, MAX_POLICIES_PER_PAGE);

export const sourceSets = object<SourceSets>({
  version,
  sets: record(SET_NAME, array(setMember, MAX_NETWORKS_PER_SET)),
});
