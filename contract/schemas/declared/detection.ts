import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import type { Filled } from './declared-kind.ts';
import { formed, LARGEST, list, oneOf, orNone, wholeOrNone } from './shapes.ts';

/** When traffic is an attack and what edges do then: fields of an organisation, a service and a holding. */
export const DETECTION = {
  thresholds: Type.Optional(
    Type.Object(
      {
        pps: wholeOrNone(1, LARGEST, 'Packets per second.'),
        mbps: wholeOrNone(1, LARGEST, 'Megabits per second.'),
        hold_seconds: wholeOrNone(1, 86_400, 'How long it must stay below to have ended.'),
      },
      {
        ...CLOSED,
        title: 'ScopeThresholds',
        description:
          'When traffic is an attack; the nearest of address, service, prefix and organisation wins. Null: as of what is around it.',
      },
    ),
  ),
  mitigation: orNone(
    oneOf(
      ['off', 'observe', 'on'],
      'What edges do against an attack. Default: as of what is around it, or on.',
    ),
  ),
  safelist: Type.Optional(
    list(
      formed('safelist', 'A CIDR.'),
      'Sources that no mitigation touches; added to those around it.',
      { maxItems: 64, 'x-unique': '', 'x-sorted': true, default: [] },
    ),
  ),
};

const Detected = Type.Object(DETECTION);
export type DetectionFields = Filled<Static<typeof Detected>>;
