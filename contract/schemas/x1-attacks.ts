import { Type } from 'typebox';
import { Attack, ATTACK_TYPES } from './attacks.ts';
import {
  answer,
  arrayOf,
  id,
  integer,
  integerOrNull,
  IpAddress,
  natural,
  object,
  openChoice,
  openChoiceOrNull,
  orNull,
  timestamp,
  timestampOrNull,
} from './values.ts';

export const MITIGATION_MODES = ['enforce', 'observe'] as const;
export const MITIGATION_ENDS = ['over', 'expired', 'cancelled', 'settings'] as const;

const AttackMitigation = object('AttackMitigation', {
  id: integerOrNull({
    minimum: 1,
    description: 'As `explain` names it; null: an edge did it by itself.',
  }),
  edge: Type.Union([Type.String(), Type.Null()], {
    description:
      'Which edge did it by itself, while control was away; null: control had all edges do it.',
  }),
  action: Type.String({
    description: 'What it does, in words for people.',
    examples: ['UDP from port 53 (dns) is dropped'],
  }),
  mode: openChoice(MITIGATION_MODES, {
    description: '`observe` marks what would have been dropped, and drops nothing.',
  }),
  since: timestamp(),
  until: timestampOrNull({
    description: 'When it was withdrawn; null: it stands, as far as the edge has said.',
  }),
  ended_because: openChoiceOrNull(MITIGATION_ENDS, {
    description:
      'Why it was withdrawn: the attack is over, nothing was heard of it any more, somebody cancelled, or settings say otherwise. Null: it stands, or an edge did it by itself.',
  }),
});

const packets = natural({ description: 'As far as they were counted; may be of samples.' });

const Bounds = object(
  'Bounds',
  'Between what a peak surely was: equal where every packet was counted.',
  { low: natural(), high: natural() },
);

const AttackThreshold = object(
  'AttackThreshold',
  'What its traffic exceeded: the threshold that was set, or a multiple of the usual traffic. Null: not known.',
  { pps: natural(), bps: natural() },
);

const TopPort = object('TopPort', {
  port: integer({ minimum: 0, maximum: 65_535 }),
  protocol: openChoiceOrNull(['tcp', 'udp'], {
    description: 'Null: who counted does not tell it.',
  }),
  packets,
});

const seriesError = (of: string) =>
  orNull(Type.Array(natural()), {
    description: `By how much each of \`${of}\` may be wrong because traffic was sampled (95 %). Null: every packet was counted.`,
  });

const AttackSeries = object(
  'AttackSeries',
  'What the address got over time: means of equal steps.',
  {
    from: timestamp(),
    step_ms: natural({ description: 'A second; longer where the attack was long.' }),
    pps: Type.Array(natural()),
    bps: Type.Array(natural()),
    pps_error: seriesError('pps'),
    bps_error: seriesError('bps'),
  },
);

const AttackEvidence = object('AttackEvidence', {
  detected_at: timestamp(),
  detected_after_ms: natural({ description: 'Since it began.' }),
  mitigated_after_ms: integerOrNull({
    minimum: 0,
    description: 'Since it was detected; null: no edge has confirmed a mitigation.',
  }),
  shares: arrayOf(
    {
      attack_type: openChoice(ATTACK_TYPES),
      share: Type.Number({ minimum: 0, maximum: 1 }),
    },
    { description: 'What it is made of, the largest part first.' },
  ),
  threshold: orNull(AttackThreshold),
  peak_pps_bounds: orNull(Bounds),
  peak_bps_bounds: orNull(Bounds),
  top_sources: arrayOf({ source_ip: IpAddress, packets }),
  top_source_ports: Type.Array(TopPort),
  top_destination_ports: Type.Array(TopPort),
  series: orNull(AttackSeries),
});

const counted = (description: string) =>
  Type.Object({ packets: natural(), bytes: natural() }, { description });

export const AttackDetail = answer('AttackDetail', {
  attack: Attack,
  mitigations: Type.Array(AttackMitigation, {
    description: 'What edges do or did against it, oldest first.',
  }),
  dropped: counted(
    'What mitigations of it have dropped, as far as edges have told, every 15 s. What filters dropped that came with it is among the drops of the address.',
  ),
  would_drop: counted(
    'What passed, and mitigations of it would have dropped that only observe. A packet counts once.',
  ),
  cancelled_at: timestampOrNull({
    description:
      'Since when nothing is done against it because somebody said so; null: nobody did.',
  }),
  evidence: orNull(AttackEvidence, {
    description: 'What is known of it besides; renewed every ten seconds. Null: nothing is kept.',
  }),
});

export const MitigationsCancelled = object('MitigationsCancelled', {
  data: Type.Object({
    attack: id({ description: 'Of the attack.' }),
    generation: integerOrNull({
      description: 'That withdraws what stood; null: nothing stood any more.',
    }),
  }),
  message: Type.String(),
});
