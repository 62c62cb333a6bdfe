import { Type } from 'typebox';
import { MAX_PORT_EXPRESSION, PORT_EXPRESSION } from './firewall.ts';
import { integerOrNull, object, sent, sentText, sentTextOrNull, textOrNull } from './values.ts';

const LENGTH = { minimum: 0, maximum: 65_507 } as const;

/** Settings that can be set on a filter, with what it means; null or absent: as the filter has it. */
const settingFields = {
  source_pps: integerOrNull({
    minimum: 1,
    maximum: 1_000_000,
    description: 'Packets per second of one source that is validated or has a connection.',
    examples: [200],
  }),
  new_per_second: integerOrNull({
    minimum: 1,
    maximum: 100_000,
    description:
      'New players per second, of all sources together: greetings on UDP, connections on TCP. Packets above it are dropped, and their clients try again, so that a launch queues at the edge.',
    examples: [50],
  }),
  min_length: integerOrNull({
    ...LENGTH,
    description: 'The shortest payload of a UDP packet, in bytes.',
  }),
  max_length: integerOrNull({
    ...LENGTH,
    description: 'The longest payload of a UDP packet, in bytes.',
    examples: [1200],
  }),
};

export const FilterSettings = object(
  'FilterSettings',
  'What the holder has set on a filter. Null: as the filter has it.',
  {
    ...settingFields,
    source_ports: textOrNull({
      description: 'The source ports that packets may come from.',
      examples: ['1024-65535'],
    }),
  },
);

export const FilterSettingsInput = sent(
  'FilterSettingsInput',
  'What is set on a filter. Null or absent: as the filter has it.',
  {
    source_pps: Type.Optional(settingFields.source_pps),
    new_per_second: Type.Optional(settingFields.new_per_second),
    min_length: Type.Optional(settingFields.min_length),
    max_length: Type.Optional(settingFields.max_length),
    source_ports: Type.Optional(
      sentTextOrNull({
        maxLength: MAX_PORT_EXPRESSION,
        description: `The source ports that packets may come from: ${PORT_EXPRESSION}`,
        examples: ['1024-65535'],
      }),
    ),
  },
);

export const FilterSettingsChange = sent('FilterSettingsChange', {
  keys: Type.Array(sentText({ minLength: 1, maxLength: 255 }), {
    minItems: 1,
    maxItems: 100,
    description: 'Keys of own filters as read from this address.',
  }),
  settings: FilterSettingsInput,
});
