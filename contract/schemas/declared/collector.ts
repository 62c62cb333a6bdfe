import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { cidrs, formed, list, name, oneOf, text, textOrNone, wholeOrNone } from './shapes.ts';

const exporter = Type.Object(
  {
    ip: formed('address', 'The exporter.'),
    sampling_rate: wholeOrNone(1, 16_777_216, 'Where the exporter sends none.'),
    prefixes: Type.Optional(
      Type.Union(
        [
          cidrs('Networks.', { minItems: 1, maxItems: 64, 'x-sorted': true }),
          oneOf(['all'], 'Every destination: its collector can report an attack on any address.'),
          Type.Null(),
        ],
        {
          description:
            'The destinations of which it is believed. A new exporter has to say it; one without it stays as it is.',
          default: null,
        },
      ),
    ),
  },
  { ...CLOSED, title: 'Exporter', 'x-words': ['ip'] },
);

const CollectorSchema = Type.Object(
  {
    name: name('The name of the collector.'),
    listen: text('ADDRESS:PORT for sFlow, NetFlow and IPFIX over UDP.', 100),
    exporters: list(exporter, 'Who may send.', {
      minItems: 1,
      maxItems: 1_000,
      'x-unique': 'The exporter',
    }),
    site: textOrNone(
      'The site whose edges count the same traffic. Default: that of the first edge.',
    ),
  },
  { ...CLOSED, description: 'A listener for flow samples.' },
);

export type CollectorObject = Filled<Static<typeof CollectorSchema>>;

export const COLLECTOR = declaredKind({
  name: 'collector',
  title: 'Collector',
  plural: 'Collectors',
  path: '/collectors/{name}',
  schema: CollectorSchema,
  about: 'With its credential. What it measured stays.',
  example: {
    listen: '0.0.0.0:6343',
    exporters: [{ ip: '192.0.2.1', sampling_rate: 1_000, prefixes: ['203.0.113.0/24'] }],
  },
});
