import { Type } from 'typebox';
import { oneOf, textOrNone } from './shapes.ts';

/** The fields of a firewall rule; one rule is made for each port. */
export function ruleFields(ports: string, description: string) {
  return {
    action: oneOf(['allow', 'deny'], 'The verdict on a packet that matches.'),
    protocol: oneOf(['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'], 'icmp is ICMPv6 on IPv6.'),
    destination_port: Type.Optional(
      Type.Unsafe<string | number | null>({
        anyOf: [
          { type: 'string', minLength: 1, maxLength: 2_000, description: ports },
          { type: 'integer', minimum: 1, maximum: 65_535, description: 'One port.' },
          { type: 'null' },
        ],
        description,
        default: null,
      }),
    ),
    source_ip: textOrNone('An address or a CIDR; left out: any source.', 50),
  };
}
