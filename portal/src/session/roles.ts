/** Each includes those before it. */
export const ROLES = ['read-only', 'member', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];
