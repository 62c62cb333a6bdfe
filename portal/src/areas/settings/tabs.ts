export const TABS = ['keys', 'members', 'webhooks', 'organisation'] as const;
export type Tab = (typeof TABS)[number];

export function isTab(value: unknown): value is Tab {
  return TABS.some((tab) => tab === value);
}
