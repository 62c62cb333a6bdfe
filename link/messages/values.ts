import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import { integer, matching, oneOf, parsedBy, prose } from './schema.ts';

/** Schemas of values that several messages hold. */

export const agentName = matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'the name of an agent');
/** Random for each start of an agent. */
export const instance = matching(/^[\x21-\x7e]{1,128}$/, 'an instance');
/** The `next` of a page; opaque to the agent. */
export const cursor = matching(/^[\x21-\x7e]{1,1024}$/, 'a cursor');
/** The version of a set of settings or source sets. */
export const version = matching(/^[\x21-\x7e]{1,128}$/, 'a version');
export const protocolVersion = integer(0, 1_000_000);
/** Never zero, so that no agent polls without a pause. */
export const periodMs = integer(10, 86_400_000);
/** Counts the reports of one instance. */
export const sequence = integer(1, Number.MAX_SAFE_INTEGER);
/** How long control waits for an answer. */
export const answerTimeoutMs = integer(1, 60_000);
/** Milliseconds since 1970, before the year 10000: the clock of an edge may be wrong, but not absurd. */
export const moment = integer(0, 253_402_300_799_999);
export const reason = prose(2_000);
/** The contents of a credential file: see `parseCredential`. */
export const credentialText = matching(/^[\x20-\x7e]{1,30000}$/, 'a credential');
/** The mode of an edge. `no_device`: it would enforce, but no packet can come in by its devices. */
export const mode = oneOf('enforce', 'observe', 'no_device');

export const address = parsedBy((text) => {
  const parsed = parseAddress(text);
  return parsed.ok && formatAddress(parsed.value) === text;
}, 'a canonical address');

/** An address without length, or a network with it; `0.0.0.0/0` keeps its length. */
export const network = parsedBy((text) => {
  const parsed = parseCidr(text);
  return parsed.ok && formatNetwork(parsed.value) === text;
}, 'a canonical address or network');

export const port = integer(1, 65_535);
/** In a packet, 0 is a port too. */
export const packetPort = integer(0, 65_535);
export const protocol = oneOf('tcp', 'udp', 'icmp', 'gre', 'esp', 'any');
/** The rule, filter or mitigation that a verdict names. */
export const ref = matching(/^[A-Za-z0-9:._/-]{1,128}$/, 'a reference');
/** An interface name: up to 15 bytes, no slash, space or quote (it becomes nft text). */
export const deviceName = matching(/^[A-Za-z0-9_.:@-]{1,15}$/, 'a device');
/** An interface name, or the beginning of names: `ens*`. */
export const devicePattern = matching(
  /^(?:[A-Za-z0-9_.:@-]{1,15}|[A-Za-z0-9_.:@-]{1,14}\*)$/,
  'a device',
);
