export const SERVER_TABS = ['console', 'resources', 'history', 'ports', 'build'] as const;
export type ServerTab = (typeof SERVER_TABS)[number];

export function isServerTab(value: unknown): value is ServerTab {
  return SERVER_TABS.some((tab) => tab === value);
}
