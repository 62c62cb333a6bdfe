import type { Verdict } from '@portcullis/core/firewall/decide.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { STAGES } from '@portcullis/core/firewall/stages.ts';
import { KERNEL_STATES } from '@portcullis/core/firewall/edge-state.ts';
import type { LiveVerdict } from './messages.ts';
import { network, ref } from './parse-policy.ts';
import { address } from './parse-report.ts';
import {
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  prose,
  type Shape,
  whole,
} from './shape.ts';

const port = integer(0, 65_535);
const octet = integer(0, 255);

export const packet: Shape<Packet> = object<Packet>({
  family: (value, at) => (value === 4 ? 4 : (integer(6, 6)(value, at) as 6)),
  source: address,
  destination: address,
  protocol: octet,
  sourcePort: nullable(port),
  destinationPort: nullable(port),
  icmp: nullable(object<NonNullable<Packet['icmp']>>({ type: octet, code: octet })),
  hopLimit: octet,
  fragment: oneOf('none', 'first', 'later'),
});

const verdict = object<Verdict>({
  action: oneOf('pass', 'drop'),
  stage: oneOf('default', ...STAGES.map(({ name }) => name)),
  ref: nullable(ref),
  observed: list(ref, 1_000),
});

export const liveVerdict: Shape<LiveVerdict> = object<LiveVerdict>({
  mode: oneOf('enforce', 'observe'),
  generation: whole,
  verdict,
  explanation: prose(2_000),
  target: nullable(network),
  fingerprint: nullable(matching(/^[\x21-\x7e]{1,128}$/, 'a fingerprint')),
  kernel: oneOf(...KERNEL_STATES),
});
