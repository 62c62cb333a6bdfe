import { Type } from 'typebox';
import { Attack } from './attacks.ts';
import { choice, id, integerOrNull, timestamp, timestampOrNull } from './values.ts';

export const MITIGATION_MODES = ['enforce', 'observe'] as const;
export const MITIGATION_ENDS = ['over', 'expired', 'cancelled', 'settings'] as const;

const AttackMitigation = Type.Object(
  {
    id: id({ description: 'As `explain` names it.' }),
    action: Type.String({
      description: 'What it does, in words for people.',
      examples: ['UDP from port 53 (dns) is dropped'],
    }),
    mode: choice(MITIGATION_MODES, {
      description: '`observe` marks what would have been dropped, and drops nothing.',
    }),
    since: timestamp(),
    until: timestampOrNull({ description: 'When it was withdrawn; null: it stands.' }),
    ended_because: Type.Union([choice(MITIGATION_ENDS), Type.Null()], {
      description:
        'Why it was withdrawn: the attack is over, nothing was heard of it any more, somebody cancelled, or settings say otherwise. Null: it stands.',
    }),
  },
  { title: 'AttackMitigation' },
);

export const AttackDetail = Type.Object(
  {
    data: Type.Object({
      attack: Attack,
      mitigations: Type.Array(AttackMitigation, {
        description: 'What edges do or did against it, oldest first.',
      }),
      cancelled_at: timestampOrNull({
        description:
          'Since when nothing is done against it because somebody said so; null: nobody did.',
      }),
    }),
  },
  { title: 'AttackDetail' },
);

export const MitigationsCancelled = Type.Object(
  {
    data: Type.Object({
      attack: id({ description: 'Of the attack.' }),
      generation: integerOrNull({
        description: 'That withdraws what stood; null: nothing stood any more.',
      }),
    }),
    message: Type.String(),
  },
  { title: 'MitigationsCancelled' },
);
