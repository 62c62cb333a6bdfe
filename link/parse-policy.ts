import type { FilterType } from '@portcullis/core/filters/catalogue.ts';
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
import {
  accepted,
  flag,
  integer,
  list,
  matching,
  nullable,
  object,
  misshapen,
  oneOf,
  optional,
  record,
  type Shape,
} from './shape.ts';

/**
 * Policies become text that a kernel reads, so nothing but canonical networks and plain names gets
 * through here, whoever sent them.
 */
const MAX_POLICIES_PER_PAGE = 100_000;
const MAX_OBJECTS_PER_POLICY = 200_000;
/** The kernel keeps rates of limits in nanoseconds a packet. */
const MAX_LIMIT_PPS = 100_000_000;
const MAX_NETWORKS_PER_SET = 2_000_000;

/** An address without length, or a network with it; `0.0.0.0/0` keeps its length. */
export const network: Shape<string> = accepted((text) => {
  const parsed = parseCidr(text);
  return parsed.ok && formatNetwork(parsed.value) === text;
}, 'a canonical address or network');

/** Source sets may write single addresses either way. */
const setMember: Shape<string> = accepted((text) => {
  const parsed = parseCidr(text);
  return parsed.ok && (formatNetwork(parsed.value) === text || formatCidr(parsed.value) === text);
}, 'a canonical address or network');

const port = integer(1, 65_535);

export const ref = matching(/^[A-Za-z0-9:._/-]{1,128}$/, 'a reference');
const setName = matching(/^(?:country|asn|list):[A-Za-z0-9._-]{1,64}$/, 'the name of a source set');
const action = oneOf('allow', 'deny');
const protocol = oneOf('tcp', 'udp', 'icmp', 'gre', 'esp', 'any');

/** A slug, known here or not: control may be a version ahead, and an edge skips what it cannot do. */
export const filterType: Shape<FilterType> = (value, at) =>
  matching(/^[a-z0-9][a-z0-9-]{0,63}$/, 'a filter type')(value, at) as FilterType;

const rule = object<PolicyRule>({
  ref,
  action,
  protocol,
  port: nullable(port),
  source: nullable(network),
});

const geoRule = object<PolicyGeoRule>({
  ref,
  action: oneOf('deny', 'only'),
  sets: list(setName, 100_000),
});

const filter = object<PolicyFilter>({
  ref,
  type: filterType,
  port,
  managed: flag,
  safelist: optional(list(network, MAX_OBJECTS_PER_POLICY), []),
});

export const mitigationLimit = object<MitigationLimit>({
  per: oneOf('destination', 'source', 'attack'),
  pps: integer(0, MAX_LIMIT_PPS),
  strangersOnly: flag,
});

const anyMitigation = object<Mitigation>({
  ref,
  mode: oneOf('enforce', 'observe'),
  protocol,
  sourcePort: nullable(port),
  destinationPort: nullable(port),
  source: nullable(network),
  safelist: list(network, MAX_OBJECTS_PER_POLICY),
  fragment: optional(oneOf('any', 'later'), 'any'),
  limit: optional(nullable(mitigationLimit), null),
});

/** Ports are of tcp and udp, and later parts of datagrams have none. */
export const mitigation: Shape<Mitigation> = (value, at) => {
  const parsed = anyMitigation(value, at);
  const ported = parsed.sourcePort !== null || parsed.destinationPort !== null;
  const hasPorts = parsed.protocol === 'tcp' || parsed.protocol === 'udp';
  if (ported && (!hasPorts || parsed.fragment === 'later')) {
    return misshapen(at, 'a mitigation: it names a port of what has none');
  }
  return parsed;
};

const policy = object<Policy>({
  target: network,
  mitigations: list(mitigation, MAX_OBJECTS_PER_POLICY),
  baseline: list(rule, MAX_OBJECTS_PER_POLICY),
  geo: list(geoRule, MAX_OBJECTS_PER_POLICY),
  rules: list(rule, MAX_OBJECTS_PER_POLICY),
  filters: list(filter, MAX_OBJECTS_PER_POLICY),
});

export const policies: Shape<Policy[]> = list(policy, MAX_POLICIES_PER_PAGE);
export const targets: Shape<string[]> = list(network, MAX_POLICIES_PER_PAGE);

export const sourceSets: Shape<SourceSets> = object<SourceSets>({
  version: matching(/^[\x21-\x7e]{1,128}$/, 'a version'),
  sets: record(
    /^(?:country|asn|list):[A-Za-z0-9._-]{1,64}$/,
    list(setMember, MAX_NETWORKS_PER_SET),
  ),
});
