import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { formed, list, oneOf, textOrNone } from './shapes.ts';

const rule = Type.Object(
  {
    action: oneOf(['allow', 'deny'], 'What happens to a packet that matches.'),
    protocol: oneOf(['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'], 'icmp is ICMPv6 on IPv6.'),
    destination_port: Type.Optional(
      Type.Unsafe<string | number | null>({
        anyOf: [
          { type: 'string', minLength: 1, maxLength: 2_000, description: 'Ports: "80,443".' },
          { type: 'integer', minimum: 1, maximum: 65_535, description: 'One port.' },
          { type: 'null' },
        ],
        description: 'A port, or an expression of ports; left out: any.',
        default: null,
      }),
    ),
    source_ip: textOrNone('An address or a CIDR; left out: any source.', 50),
  },
  { ...CLOSED, description: 'A firewall rule; one is made for each port.', title: 'BaselineRule' },
);

const BaselineSchema = Type.Object(
  {
    prefix: formed('cidr', 'Where they hold.'),
    rules: list(rule, 'The rules.', { minItems: 1, maxItems: 1_000 }),
  },
  { ...CLOSED, description: "The operator's own rules of a prefix, before everybody else's." },
);

/** An entry of a file: the same rules for several prefixes. */
export const BaselineEntry = Type.Object(
  {
    prefixes: list(BaselineSchema.properties.prefix, 'Where they hold.', { minItems: 1 }),
    rules: list(rule, 'The rules.'),
  },
  CLOSED,
);

export type BaselineObject = Filled<Static<typeof BaselineSchema>>;

export const BASELINE = declaredKind({
  name: 'baseline',
  title: 'Baseline',
  plural: 'Baselines',
  path: '/baseline/{prefix}',
  schema: BaselineSchema,
  about: 'All rules of the prefix.',
  example: { rules: [{ action: 'deny', protocol: 'udp', destination_port: 1900 }] },
});
