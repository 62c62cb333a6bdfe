import { type Static, Type } from 'typebox';
import { CLOSED, NO_CONTROL_CHARACTERS } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { cidrs, LARGEST, list, name, orNone, textOrNone, whole, wholeOrNone } from './shapes.ts';

const ResponderSchema = Type.Object(
  {
    name: name('How the file finds it again.'),
    command: orNone(
      list(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          pattern: NO_CONTROL_CHARACTERS,
          description: 'A word.',
        }),
        "A program's absolute path and its arguments. No shell reads them; the attack is JSON on its standard input.",
        { minItems: 1, maxItems: 64 },
      ),
    ),
    webhook: textOrNone('An http or https URL that the attack is posted to as JSON.', 2_000),
    secret: textOrNone(
      'Sent as `Authorization: Bearer`, in a file best as ${NAME}; of webhooks only. It is not shown again.',
      1_000,
    ),
    prefixes: orNone(
      cidrs('Only attacks on what lies in these. Default: all.', {
        minItems: 1,
        'x-sorted': true,
      }),
    ),
    at: Type.Optional(
      Type.Object(
        {
          pps: wholeOrNone(1, LARGEST, 'Packets per second.'),
          mbps: wholeOrNone(1, LARGEST, 'Megabits per second.'),
        },
        { ...CLOSED, description: 'Only attacks whose peak is above either. Default: all.' },
      ),
    ),
    timeout_seconds: Type.Optional(whole(1, 60, 'A call takes no longer.', { default: 10 })),
    expires_seconds: Type.Optional(
      whole(10, 86_400, 'Taken back after so long, whatever the attack does.', { default: 3_600 }),
    ),
  },
  {
    ...CLOSED,
    description:
      'Called when an attack begins that is mitigated, and when it is over: `command` or `webhook`.',
  },
);

export type ResponderObject = Filled<Static<typeof ResponderSchema>>;

export const RESPONDER = declaredKind({
  name: 'responder',
  title: 'Responder',
  plural: 'Responders',
  path: '/responders/{name}',
  schema: ResponderSchema,
  about: 'What it was called for is taken back as it expires.',
  example: { webhook: 'https://scrubber.example/attacks', timeout_seconds: 5 },
});
