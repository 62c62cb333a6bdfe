import { Type } from 'typebox';
import { choice, integer, integerOrNull, IpAddress, natural, object, timestamp } from './values.ts';

const Tally = object('SampleTally', {
  samples: natural({ description: 'Sampled packets.' }),
  sources: natural({ description: 'Addresses that they came from.' }),
});

const PreviewedPort = object(
  'PreviewedPort',
  'What a default of deny would drop, and what rules or filters would let pass.',
  {
    protocol: integer({ minimum: 0, maximum: 255, description: 'Number of the IP protocol.' }),
    port: integerOrNull({ minimum: 0, maximum: 65_535, description: 'Null: it has none.' }),
    dropped: Tally,
    passed: Tally,
    last_seen_at: timestamp({ description: 'When an edge last reported such a packet.' }),
  },
);

export const DefaultPreview = object('DefaultPreview', {
  data: Type.Object({
    ip: IpAddress,
    default: choice(['accept', 'deny'], { description: 'The default that is accepted now.' }),
    ports: Type.Array(PreviewedPort, { description: 'Most would be dropped first.' }),
  }),
  message: Type.String({ description: 'The same in a sentence, and how far it can be trusted.' }),
  meta: Type.Object({
    from: timestamp({ description: 'The samples are from here on; at most a day.' }),
    to: timestamp(),
    sampled_one_in: natural({
      description:
        'Edges sample packets of connections that were not answered yet, and one of so many others.',
    }),
    samples: natural({ description: 'All that were looked at.' }),
    denied_already: natural({ description: 'Of those, what is dropped now by something else.' }),
    edges: Type.Array(Type.String(), { description: 'The edges that sampled them.' }),
    is_complete: Type.Boolean({ description: 'False: there were more, and these are the most.' }),
  }),
});
