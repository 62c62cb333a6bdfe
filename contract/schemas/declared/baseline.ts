import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { ruleFields } from './rule-fields.ts';
import { formed, list } from './shapes.ts';

const rule = Type.Object(
  ruleFields('Ports: "80,443".', 'A port, or an expression of ports; left out: any.'),
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
