import { ATTACK_ENDPOINTS } from './operations/attacks.ts';
import { FIREWALL_ENDPOINTS } from './operations/firewall.ts';
import { GAME_SERVER_ENDPOINTS } from './operations/game-servers.ts';

export const V1_PREFIX = '/api/v1';

/** The public interface: a row per operation. */
export const ENDPOINTS = [
  ...FIREWALL_ENDPOINTS,
  ...GAME_SERVER_ENDPOINTS,
  ...ATTACK_ENDPOINTS,
] as const;
