import { Type } from 'typebox';
import { RuleAction, RuleProtocol } from './firewall.ts';
import { id, natural, object, sent, sentText, sentTextOrNull } from './values.ts';

/** The limit of the port expression parser; enough for thousands of ports. */
const MAX_PORT_EXPRESSION = 65_536;
/** Longer than any address or CIDR, so that a slightly too long text still gets a useful reason. */
const MAX_SOURCE = 64;
const MAX_SLUG = 64;

const PORT_EXPRESSION =
  'a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once.';

/** The fields of a rule in create and replace. */
export const RuleInput = sent(
  'RuleInput',
  'A rule to create; one is made for every port of the expression.',
  {
    action: RuleAction,
    protocol: RuleProtocol,
    destination_port: Type.Optional(
      sentTextOrNull({
        maxLength: MAX_PORT_EXPRESSION,
        description: `With tcp and udp only: ${PORT_EXPRESSION} Left out or null: any port.`,
        examples: ['80', '7000-7010', '80,443'],
      }),
    ),
    source_ip: Type.Optional(
      sentTextOrNull({
        maxLength: MAX_SOURCE,
        description:
          'An address or a CIDR block of the address’s own family, without host bits. Left out or null: any source.',
        examples: ['198.51.100.7', '198.51.100.0/24'],
      }),
    ),
  },
);

/** The fields of a filter in create and replace. */
export const FilterInput = sent(
  'FilterInput',
  'A filter to create; one is made for every port of the expression.',
  {
    type: sentText({
      minLength: 1,
      maxLength: MAX_SLUG,
      description: 'A slug from the catalogue of the same address.',
      examples: ['udp-stateful'],
    }),
    port: sentText({
      minLength: 1,
      maxLength: MAX_PORT_EXPRESSION,
      description: `The ports to filter: ${PORT_EXPRESSION}`,
      examples: ['27015', '27015-27020', '25565,25575'],
    }),
  },
);

/** The most ids or keys per delete. */
export const MAX_PER_DELETE = 100;

export const RuleDeletion = sent('RuleDeletion', {
  ids: Type.Array(id({ examples: [1041] }), {
    minItems: 1,
    maxItems: MAX_PER_DELETE,
    description: 'Ids of rules of this address. Others are skipped.',
  }),
});

export const FilterDeletion = sent('FilterDeletion', {
  keys: Type.Array(sentText({ minLength: 1, maxLength: 255, examples: ['udp-stateful:27015'] }), {
    minItems: 1,
    maxItems: MAX_PER_DELETE,
    description: 'Keys of filters as read from this address. Others are skipped.',
  }),
});

const message = (description: string) => Type.String({ description });

export const RulesCreated = object('RulesCreated', {
  data: Type.Object({
    ids: Type.Array(id(), { description: 'Ids of the rules that landed, by ascending port.' }),
    created: natural({ description: 'How many landed.' }),
    requested: natural({
      description: 'How many were asked for. More than `created`: some ports did not land.',
    }),
  }),
  message: message('That it was accepted and how long it propagates; which rule makes it moot.'),
});

export const RulesDeleted = object('RulesDeleted', {
  data: Type.Object({
    deleted: natural({
      description: 'How many were deleted. Fewer than sent: the rest is not on this address.',
    }),
    ids: Type.Array(id(), { description: 'Ids of the rules that were deleted.' }),
  }),
  message: message('What was accepted, and how long it propagates.'),
});

export const FiltersCreated = object('FiltersCreated', {
  data: Type.Object({
    type: Type.String({ description: 'Slug of the filter.' }),
    created: natural({ description: 'On how many ports it was put.' }),
  }),
  message: message('What was accepted, and the warning that connections must reconnect.'),
});

export const FiltersDeleted = object('FiltersDeleted', {
  data: Type.Object({
    deleted: natural({
      description: 'How many were deleted. Fewer than sent: the rest is not on this address.',
    }),
  }),
  message: message('What was accepted, and how long it propagates.'),
});
