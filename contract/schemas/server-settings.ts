import { Type } from 'typebox';
import {
  CLOSED,
  numberOrNull,
  integerOrNull,
  object,
  openChoice,
  openChoiceOrNull,
  sent,
  sentText,
  sentTextOrNull,
  choice,
  integer,
  textOrNull,
} from './values.ts';

/** Whether a server is started when its host was: as it was before, whatever it was, or not. */
const STARTS_WITH_HOST = ['as_before', 'always', 'never'] as const;
/** The name of a variable in the environment. */
export const VARIABLE_NAME = '^\\w{1,191}$';

const VariableInput = object(
  'VariableInput',
  'The input that fits the rules of a variable. What rules say beyond it is checked when a value is sent.',
  {
    kind: openChoice(['choice', 'switch', 'number', 'text']),
    choices: Type.Array(Type.String(), { description: 'Of a `choice`; empty otherwise.' }),
    on: textOrNull({ description: 'The value of a `switch` that is on.' }),
    off: textOrNull({ description: 'The value of a `switch` that is off.' }),
    whole: Type.Boolean({ description: 'A `number` without a fraction.' }),
    least: numberOrNull({ description: 'The least number, or length of a `text`.' }),
    most: numberOrNull({ description: 'The largest number, or length of a `text`.' }),
  },
);

const EGG_VARIABLE = {
  env: Type.String({ description: 'Its name in the environment.', examples: ['MOTD'] }),
  name: Type.String({ description: 'For people.' }),
  description: Type.String({ description: 'For people; may be empty.' }),
  default: Type.String(),
  rules: Type.Array(Type.String(), { description: 'Rules, in the words of the egg.' }),
  input: VariableInput,
};

export const EggVariable = object('EggVariable', 'A startup variable of an egg.', {
  ...EGG_VARIABLE,
  viewable: Type.Boolean({ description: 'The people of a server see it.' }),
  editable: Type.Boolean({ description: 'They may change it, if they see it.' }),
});

const ServerVariable = object('ServerVariable', 'A startup variable of a server.', {
  ...EGG_VARIABLE,
  value: Type.String({ description: 'The value that it has; where none was set, the default.' }),
});

const stopSeconds = {
  minimum: 0,
  maximum: 3_600,
  description:
    'Seconds from the stop of the egg to SIGTERM, which ends what does not stop. Null: as the egg says.',
};

export const ServerSettings = object('ServerSettings', 'The settings of a server.', {
  data: object('ServerSettingsData', {
    name: Type.String(),
    egg: object('SettingsEgg', 'The game that it is.', {
      name: Type.String({ examples: ['eggs/flying-squid.json'] }),
      title: Type.String(),
    }),
    image: object('SettingsImage', 'The image that it runs in.', {
      used: Type.String({ description: 'The label of the one that is used.' }),
      chosen: textOrNull({ description: 'The one that was chosen. Null: the first of the egg.' }),
      labels: Type.Array(Type.String(), { description: 'Those of the egg.' }),
    }),
    start_with_host: openChoice(STARTS_WITH_HOST, {
      description:
        'What happens to it when its host was started: as it was before, it is started, or it stays off.',
    }),
    stop_seconds: integerOrNull(stopSeconds),
    stop_seconds_of_egg: integer({ minimum: 0 }),
    crashes: object('SettingsCrashes', 'The reaction to an end by itself.', {
      restart: Type.Boolean({ description: 'Whether it is started again.' }),
      within_seconds: integer({
        description: 'Crashes that follow each other within this time are counted together.',
      }),
      tries: integer({
        description: 'Restarts after such crashes; the next one leaves it offline.',
      }),
    }),
    variables: Type.Array(ServerVariable, {
      description: 'Those that its people may see, in the order of the egg.',
    }),
    fixed: Type.Array(
      object('FixedSetting', 'A setting that the caller cannot change.', {
        pointer: Type.String({ examples: ['/variables/MOTD'] }),
        reason: Type.String({ description: 'Why not, in a sentence.' }),
      }),
      { description: 'What the caller cannot change, and why.' },
    ),
  }),
  meta: object('ServerSettingsMeta', {
    state: openChoiceOrNull(['offline', 'starting', 'running', 'stopping', 'paused'], {
      description: 'What it does, by its node. Null: unknown.',
    }),
    at_next_start: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      examples: [['/variables/MOTD']],
      description:
        'Settings that a server that runs takes at its next start, as JSON pointers. Of a read: those that wait now; null: unknown, because its node did not answer. Of a write: those that it changed.',
    }),
  }),
  message: Type.Optional(Type.String({ description: 'What a write changed, in a sentence.' })),
});

const value = {
  anyOf: [
    { type: 'string', maxLength: 16_384 },
    { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'boolean' },
    { type: 'null' },
  ],
};

export const ServerSettingsChange = sent(
  'ServerSettingsChange',
  'What is left out stays. Null gives a setting its default again.',
  {
    name: Type.Optional(sentText({ minLength: 1, maxLength: 200 })),
    image: Type.Optional(
      sentTextOrNull({ minLength: 1, maxLength: 255, description: 'A label of the egg.' }),
    ),
    start_with_host: Type.Optional(choice(STARTS_WITH_HOST)),
    stop_seconds: Type.Optional(integerOrNull(stopSeconds)),
    crashes: Type.Optional(
      sent('SettingsCrashesChange', {
        restart: Type.Optional(Type.Boolean()),
        within_seconds: Type.Optional(integer({ minimum: 0, maximum: 86_400 })),
        tries: Type.Optional(integer({ minimum: 1, maximum: 10 })),
      }),
    ),
    variables: Type.Optional(
      Type.Unsafe<Record<string, string | number | boolean | null>>({
        type: 'object',
        propertyNames: { pattern: VARIABLE_NAME },
        additionalProperties: value,
        maxProperties: 256,
        description: 'By environment name, within the rules of the egg.',
      }),
    ),
  },
);

/** The query of a new installation: the end of the files that are there. */
export const ReinstallQuery = Type.Object(
  {
    files: Type.Optional(
      choice(['keep', 'bin', 'delete'], {
        default: 'keep',
        description:
          '`keep`: the install runs over them. `bin`: they are moved to the bin of the server first, which counts as its disk. `delete`: they are deleted for good, with the bin.',
      }),
    ),
  },
  CLOSED,
);
