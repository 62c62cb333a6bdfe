/** The abilities of keys, with the activation flag that an area needs, if any. */
const AREA_OF = {
  'firewall.read': 'firewall_api',
  'firewall.manage': 'firewall_api',
  'attacks.read': 'attack_history_api',
  'game-servers.read': null,
  'game-servers.manage': null,
  'game-servers.files': null,
  'game-servers.settings': null,
  'game-servers.create': null,
} as const satisfies Record<string, Flag | null>;

export type Ability = keyof typeof AREA_OF;

/** Set by the operator for an organisation; without it the area answers 403 and grants nothing. */
export type Flag = 'firewall_api' | 'attack_history_api';

/** The abilities of keys of the operator, which belong to no organisation. */
export const OPERATOR_ABILITIES = ['operator.read', 'operator.manage'] as const;
export type OperatorAbility = (typeof OPERATOR_ABILITIES)[number];

export const FLAGS: readonly Flag[] = ['firewall_api', 'attack_history_api'];
export const ABILITIES = Object.keys(AREA_OF) as readonly Ability[];

export function flagOf(ability: Ability): Flag | null {
  return AREA_OF[ability];
}
